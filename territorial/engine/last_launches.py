"""What every seat launched in the last step: small tables that each step overwrites."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import NO_TARGET
from territorial.config import Params
from territorial.game.launches import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LaunchList
from territorial.game.legality import is_legal, largest_need, need_for
from territorial.game.state import Game
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


def allocate_launches(num_games: int, num_players: int) -> Launches:
    """Return the tables of ``num_games`` games in which no seat has launched."""
    seats = (num_games, num_players)
    return Launches(np.full(seats, NO_TARGET, np.int16), np.zeros(seats, np.int16), np.zeros(seats, np.bool_))


def forget_launches(launched: Launches, games: Any) -> None:
    """Note that no seat of ``games``, any index of the first axis, has launched."""
    launched.target[games], launched.fraction[games], launched.legal[games] = NO_TARGET, 0, False


@njit
def clear_launches(launched: Launches, k: int) -> None:
    """Note that no seat of game ``k`` has launched: what ``forget_launches`` does, within a step."""
    for q in range(launched.target.shape[1]):
        launched.target[k, q], launched.fraction[k, q], launched.legal[k, q] = NO_TARGET, 0, False


@njit
def note_launches(launched: Launches, k: int, game: Game, params: Params, launches: LaunchList) -> None:
    """Note the launches of game ``k``, which are about to be made."""
    for i in range(launches.first, launches.end):
        p, target = launches.rows[i, LAUNCH_SEAT], launches.rows[i, LAUNCH_TARGET]
        need = need_for(game.fronts[p, target], game.pools[p, target], params)
        launched.target[k, p - 1] = target
        launched.fraction[k, p - 1] = launches.rows[i, LAUNCH_FRACTION]
        launched.legal[k, p - 1] = is_legal(need, largest_need(game.troops[p], params))
