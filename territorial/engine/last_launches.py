"""What every seat launched in the last step: small tables that each step overwrites."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import NO_TARGET
from territorial.config import Params
from territorial.game.launches import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LaunchList
from territorial.game.legality import is_legal, largest_need, may_donate, need_for
from territorial.game.state import Game
from territorial.game.teams import are_allies_in, has_allies
from territorial.jit.decorators import njit


class Launches(NamedTuple):
    """What the P seats of E games launched in the last step, in seat order.

    Args:
        target: int16 (E, P): the owner code of the target, 0 neutral land, 1..P a seat; -1: the seat held.
        fraction: int16 (E, P): 1024ths of the balance, 1 to 1024, as they were asked for; 0: the seat held.
        legal: bool (E, P): the launch was legal. One that was not did nothing. False where the seat held.

    """

    target: npt.NDArray[np.int16]
    fraction: npt.NDArray[np.int16]
    legal: npt.NDArray[np.bool_]


class LastLaunches(NamedTuple):
    """The tables of :class:`Launches` with which of their entries are set: a step clears no others."""

    target: npt.NDArray[np.int16]  # (E, P)
    fraction: npt.NDArray[np.int16]  # (E, P)
    legal: npt.NDArray[np.bool_]  # (E, P)
    places: npt.NDArray[np.int16]  # (E, P) the entries, 0..P-1, that are set
    counts: npt.NDArray[np.int64]  # (E,) how many these are


def allocate_launches(num_games: int, num_players: int) -> LastLaunches:
    """Return the tables of ``num_games`` games in which no seat has launched."""
    seats = (num_games, num_players)
    return LastLaunches(
        target=np.full(seats, NO_TARGET, np.int16),
        fraction=np.zeros(seats, np.int16),
        legal=np.zeros(seats, np.bool_),
        places=np.zeros(seats, np.int16),
        counts=np.zeros(num_games, np.int64),
    )


def launches_of(last: LastLaunches) -> Launches:
    """Return the tables that users see: views."""
    return Launches(last.target, last.fraction, last.legal)


def forget_launches(last: LastLaunches, games: Any) -> None:
    """Note that no seat of ``games``, any index of the first axis, has launched."""
    last.target[games], last.fraction[games], last.legal[games] = NO_TARGET, 0, False
    last.counts[games] = 0


def write_launches(last: LastLaunches, launches: Launches) -> None:
    """Note ``launches`` instead of what was noted."""
    for noted, given in zip(launches_of(last), launches, strict=True):
        noted[...] = given
    held = launches.target == NO_TARGET
    last.places[...] = held.argsort(axis=1, kind="stable")
    last.counts[...] = held.shape[1] - held.sum(axis=1)


@njit
def clear_launches(last: LastLaunches, k: int) -> None:
    """Note that no seat of game ``k`` has launched: what ``forget_launches`` does, within a step."""
    for i in range(last.counts[k]):
        q = last.places[k, i]
        last.target[k, q], last.fraction[k, q], last.legal[k, q] = NO_TARGET, 0, False
    last.counts[k] = 0


@njit
def note_launches(last: LastLaunches, k: int, game: Game, params: Params, launches: LaunchList) -> None:
    """Note the launches of game ``k``, at most one a seat, which are about to be made."""
    for i in range(launches.first, launches.end):
        p, target = launches.rows[i, LAUNCH_SEAT], launches.rows[i, LAUNCH_TARGET]
        if last.target[k, p - 1] == NO_TARGET:
            last.places[k, last.counts[k]] = p - 1
            last.counts[k] += 1
        last.target[k, p - 1] = target
        last.fraction[k, p - 1] = launches.rows[i, LAUNCH_FRACTION]
        last.legal[k, p - 1] = is_legal_now(game, params, p, target)


@njit
def is_legal_now(game: Game, params: Params, p: int, target: int) -> bool:
    """Return whether ``p`` may launch against ``target``, or give to it, before any launch of the tick."""
    if has_allies(params) and are_allies_in(game, p, target):
        return may_donate(game.troops[p], game.troops[target], game.land[target], params)
    need = need_for(game.fronts[p, target], game.pools[p, target], params)
    return is_legal(need, largest_need(game.troops[p], params))
