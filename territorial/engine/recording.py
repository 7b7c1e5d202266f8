"""Launches of the last step, the launch log, and observers of games.

The kernels append every launch of a recorded game to its log, by bots and agents alike. When the game ends,
or is left, they copy its last position before another game may take its place. The recorder
(territorial.replay) empties the log before it is full. A batch without a recorder has a log without room, on
which nothing is written.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from territorial.config import Params
from territorial.game.formulas import is_legal, largest_need, may_donate, need_for
from territorial.game.scratch import (
    LAUNCH_FRACTION,
    LAUNCH_SEAT,
    LAUNCH_TARGET,
    NUM_LAUNCH_COLUMNS,
    LaunchList,
)
from territorial.game.state import Game, Position, allocate_positions, write_position
from territorial.game.teams import are_allies_in, has_allies
from territorial.jit.decorators import njit
from territorial.jit.simd import fill
from territorial.observation.action_encoding import NO_TARGET

LOG_STEPS = 64
"""Environment steps that a log has room for, if every seat launches in all of them."""
NOT_RECORDED = -1


# ---- the launches of the last step -----------------------------------------------------------------


class Launches(NamedTuple):
    """Launches of the P seats of E games in the last step, in seat order.

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


def forget_launches(last: Launches, games: Any) -> None:
    """Note that no seat of ``games``, any index of the first axis, has launched."""
    last.target[games], last.fraction[games], last.legal[games] = NO_TARGET, 0, False


@njit
def clear_launches(last: Launches, k: int) -> None:
    """Note that no seat of game ``k`` has launched; ``forget_launches`` within a step."""
    fill(last.target[k], NO_TARGET)
    fill(last.fraction[k], 0)
    for q in range(last.legal.shape[1]):
        last.legal[k, q] = False


@njit
def note_launches(last: Launches, k: int, game: Game, params: Params, launches: LaunchList) -> None:
    """Note the launches of game ``k``, at most one a seat, which are about to be made."""
    for i in range(launches.first, launches.end):
        p, target = launches.rows[i, LAUNCH_SEAT], launches.rows[i, LAUNCH_TARGET]
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


# ---- the log of recorded games ---------------------------------------------------------------------


class LaunchLog(NamedTuple):
    """Logs and last positions of R recorded games out of a batch of E."""

    slots: npt.NDArray[np.int64]  # (E,) which of the R a game is, or NOT_RECORDED
    launches: npt.NDArray[np.int32]  # (R, capacity, 4) see territorial.game.scratch
    counts: npt.NDArray[np.int64]  # (R,) launches logged since the log was emptied
    board: npt.NDArray[np.uint8]  # (R, H+2, W+2) the position in which the last game ended
    numbers: npt.NDArray[np.int64]  # (R, see state.Position)


def make_launch_log(recorded: npt.NDArray[np.bool_], num_players: int, height: int, width: int) -> LaunchLog:
    """Return the launch log of a batch; ``recorded``, bool (E,): the games that are recorded."""
    count = int(recorded.sum())
    last = allocate_positions(count, num_players, height, width)
    return LaunchLog(
        slots=np.where(recorded, recorded.cumsum() - 1, NOT_RECORDED).astype(np.int64),
        launches=np.zeros((count, LOG_STEPS * num_players, NUM_LAUNCH_COLUMNS), np.int32),
        counts=np.zeros(count, np.int64),
        board=last.board,
        numbers=last.numbers,
    )


def last_position(launch_log: LaunchLog, k: int) -> Position:
    """Return the position in which the last game in slot ``k`` of the batch ended, or was left: views."""
    slot = launch_log.slots[k]
    return Position(launch_log.board[slot], launch_log.numbers[slot])


@njit
def log_launches(launch_log: LaunchLog, k: int, launches: LaunchList) -> None:
    """Append the launches of game ``k`` to its log, if it has one; surplus ones are counted and lost."""
    slot = launch_log.slots[k]
    if slot >= 0:
        for i in range(launches.first, launches.end):
            count = launch_log.counts[slot]
            if count < launch_log.launches.shape[1]:
                for column in range(NUM_LAUNCH_COLUMNS):
                    launch_log.launches[slot, count, column] = launches.rows[i, column]
            launch_log.counts[slot] = count + 1


@njit
def keep_position(launch_log: LaunchLog, k: int, game: Game) -> None:
    """Keep the position of game ``k``, which is about to be replaced, if the game is recorded."""
    slot = launch_log.slots[k]
    if slot >= 0:
        write_position(game, launch_log.board[slot], launch_log.numbers[slot])


# ---- notices ---------------------------------------------------------------------------------------


class GameObserver:
    """An observer of a batch, such as a recorder: its methods are called after each event of the games.

    Here they do nothing: NO_OBSERVER has no others.
    """

    def before_reset(self, games: Iterable[int]) -> None:
        """These games are about to be replaced."""

    def after_reset(self, games: Iterable[int]) -> None:
        """These games have just begun."""

    def after_step(self) -> None:
        """A step was played; its results are in the batch's results and in its launch log."""

    def after_play(self, k: int, launches: npt.NDArray[np.int64]) -> None:
        """Game ``k`` played ticks with ``launches``, (N, 4): tick, seat, owner code, 1024ths."""

    def after_seating(self, k: int) -> None:
        """Other players go on with game ``k``."""

    def after_placing(self, k: int) -> None:
        """Game ``k`` was put into another position."""


NO_OBSERVER = GameObserver()
"""The observer of a batch that has none."""


class DecisionHook(Protocol):
    """An observer of every decision of a call, such as a reward function of the user's own."""

    def before_decision(self) -> None:
        """The next decision of all games is about to be played."""

    def after_decision(self) -> None:
        """A decision was played, and the results are of this decision alone."""
