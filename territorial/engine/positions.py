"""Positions that users set up, and what they can learn of those that there are: fronts and digests."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.validation import whole_number, whole_numbers
from territorial.constants import BLOCKED, LARGEST_TROOPS, MAX_SIDE
from territorial.engine import step
from territorial.game.formulas import are_allies, is_legal, largest_need, may_donate, need_for
from territorial.game.state import FIELDS, Position, State, allocate_positions, digest, view
from territorial.typing import Bools, Ints

LARGEST_TICK = 2**40
"""Largest tick at which a player of a position may step next."""
AT_ZERO = ("pools", "taken", "active", "fresh", "place2", "illegal", "raised", "bounced")
"""Fields that hold nothing in a position."""


def write_position(
    config: GameConfig,
    state: State,
    k: int,
    owner: npt.ArrayLike,
    tick: int,
    troops: Sequence[int] | None,
    pools: Mapping[tuple[int, int], int] | None,
    peak: Sequence[int] | None,
    next_step: Sequence[int] | None,
) -> npt.NDArray[np.uint8]:
    """Write all numbers of a position into game ``k``, and return its board, owner codes (H, W).

    The arguments are those of ``VecGame.set_position``; if one of them cannot be, nothing is written. The
    board, and what follows from it, is not yet.
    """
    players = config.num_players
    board = _checked_board(owner, config)
    now = whole_number("tick", tick, 0, config.max_ticks)
    balances = None if troops is None else whole_numbers("troops", troops, (players,), 0, LARGEST_TROOPS)
    peaks = None if peak is None else whole_numbers("peak", peak, (players,), 0, MAX_SIDE**2)
    steps = None if next_step is None else whole_numbers("next_step", next_step, (players,), 0, LARGEST_TICK)
    in_field = _checked_pools({} if pools is None else pools, view(state, "team")[k])
    get = {field.name: view(state, field.name)[k] for field in FIELDS}
    for name in AT_ZERO:
        get[name][...] = 0
    state.ledger[k] = 0
    cells = np.bincount(board.ravel(), minlength=BLOCKED + 1)
    for name, value in {"tick": now, "over": 0, "num_land": cells[:BLOCKED].sum()}.items():
        view(state, name)[k] = value
    get["alive"][1:], get["death_tick"][:] = 1, -1
    get["troops"][1:] = config.starting_troops if balances is None else balances
    get["next_step"][1:] = now if steps is None else steps
    get["peak"][1:] = cells[1 : players + 1] if peaks is None else peaks
    for pair, amount in in_field.items():
        get["pools"][pair] = amount
    return board


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


# ---- checks ----------------------------------------------------------------------------------------


def _checked_board(owner: npt.ArrayLike, config: GameConfig) -> npt.NDArray[np.uint8]:
    """Return a copy of owner codes, uint8 (H, W)."""
    board = whole_numbers("owner", owner, (config.height, config.width), 0, BLOCKED)
    places = np.argwhere((board != BLOCKED) & (board > config.num_players)).tolist()
    if places:
        found = board[tuple(places[0])]
        raise ValueError(f"owner{places[0]} is {found}; it must be 0 to {config.num_players}, or {BLOCKED}")
    if (board == BLOCKED).all():
        raise ValueError(f"owner holds only {BLOCKED}; a board must have land")
    return board.astype(np.uint8)


def _checked_pools(pools: Mapping[tuple[int, int], int], teams: Ints) -> dict[tuple[int, int], int]:
    """Return the troops of pools by (seat, target); ``teams``: the team of every owner code, (P+1,)."""
    num_players = len(teams) - 1
    if not isinstance(pools, Mapping):
        raise TypeError(f"pools is {pools!r}; it must map (seat, target) to troops")
    checked = {}
    for pair, amount in pools.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"pools[{pair!r}]: it must be (seat, target)")
        p = whole_number(f"seat of pools[{pair}] = {amount}", pair[0], 1, num_players)
        target = whole_number(f"target of pools[{pair}] = {amount}", pair[1], 0, num_players)
        if p == target:
            raise ValueError(f"pools[{pair}] is {amount}; seat and target must differ")
        if teams[p] == teams[target]:
            raise ValueError(
                f"pools[{pair}] is {amount}; seats {p} and {target} are allies, of team {teams[p]}, and no "
                "pool may be between them"
            )
        checked[p, target] = whole_number(f"pools[{pair}] = {amount}: it", amount, 0, LARGEST_TROOPS)
    return checked
