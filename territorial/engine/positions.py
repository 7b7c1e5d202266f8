"""Positions that users set up, and what they can learn of those that there are: fronts and digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.constants import BLOCKED, LARGEST_TROOPS, MAX_SIDE
from territorial.engine import step
from territorial.engine.checks import checked_board, checked_per_seat, checked_pools
from territorial.game.legality import are_allies, is_legal, largest_need, may_donate, need_for
from territorial.game.state import FIELDS, Position, State, allocate_positions, digest, view
from territorial.typing import Bools, Ints

LARGEST_TICK = 2**40
"""Largest tick at which a player of a position may step next."""
AT_ZERO = ("pools", "taken", "active", "fresh", "place2", "illegal", "raised", "bounced")
"""Fields that hold nothing in a position."""


class GivenPosition(NamedTuple):
    """A position as ``VecGame.set_position`` gets it, checked; None is what that sets then."""

    board: npt.NDArray[np.uint8]  # (H, W) owner codes
    tick: int
    troops: list[int] | None  # one per seat, as the two below
    pools: dict[tuple[int, int], int]
    peak: list[int] | None
    next_step: list[int] | None


def checked_position(
    config: GameConfig,
    owner: npt.ArrayLike,
    tick: int,
    troops: Sequence[int] | None,
    pools: Mapping[tuple[int, int], int] | None,
    peak: Sequence[int] | None,
    next_step: Sequence[int] | None,
    teams: Ints,
) -> GivenPosition:
    """Return a position that games of ``config`` can be put into; see ``VecGame.set_position``.

    ``teams``: (P+1,), those of the game.
    """
    players = config.num_players
    return GivenPosition(
        board=checked_board(owner, config),
        tick=whole_number("tick", tick, 0, config.max_ticks),
        troops=checked_per_seat("troops", troops, players, LARGEST_TROOPS),
        peak=checked_per_seat("peak", peak, players, MAX_SIDE**2),
        next_step=checked_per_seat("next_step", next_step, players, LARGEST_TICK),
        pools=checked_pools({} if pools is None else pools, teams),
    )


def write_numbers(given: GivenPosition, config: GameConfig, state: State, k: int) -> None:
    """Write all numbers of a position into game ``k``; the board, and what follows from it, are not yet."""
    get = {field.name: view(state, field.name)[k] for field in FIELDS}
    for name in AT_ZERO:
        get[name][...] = 0
    state.ledger[k] = 0
    num_land = int((given.board != BLOCKED).sum())
    for name, value in {"tick": given.tick, "over": 0, "num_land": num_land}.items():
        view(state, name)[k] = value
    get["alive"][1:], get["death_tick"][:] = 1, -1
    get["troops"][1:] = config.starting_troops if given.troops is None else given.troops
    get["next_step"][1:] = given.tick if given.next_step is None else given.next_step
    for pair, amount in given.pools.items():
        get["pools"][pair] = amount


def write_peaks(given: GivenPosition, state: State, k: int) -> None:
    """Write the largest lands so far; where none are given, those that the board has."""
    view(state, "peak")[k, 1:] = view(state, "land")[k, 1:] if given.peak is None else given.peak


def digest_of(config: GameConfig, state: State, k: int) -> bytes:
    """Return the 8 bytes that name the position of game ``k``; see ``VecGame.digest``."""
    room = allocate_positions(1, config.num_players, config.height, config.width)
    position = Position(room.board[0], room.numbers[0])
    step.position_of(state, k, position)
    return digest(int(state.seed[k, 0]), position)


def fronts_of(config: GameConfig, state: State, k: int) -> tuple[Ints, Ints, Bools]:
    """Return front sizes, launch needs and legality of all pairs of game ``k``; see ``VecGame.fronts``.

    Between allies nothing is needed: what is legal there are donations.
    """
    sizes, troops, land = (view(state, name)[k].copy() for name in ("fronts", "troops", "land"))
    teams, owners = view(state, "team")[k], np.arange(len(troops))
    allies = are_allies(owners[:, None], owners, teams[:, None], teams)
    needs = need_for(sizes * ~allies, view(state, "pools")[k], config)
    attacks = is_legal(needs, largest_need(troops, config)[:, None])
    return sizes, needs, np.where(allies, may_donate(troops[:, None], troops, land, config), attacks)
