"""The launch log: what a step leaves of the games that are recorded, their launches and how they ended.

The kernels append every launch to the log of its game, by bots and agents alike. When a game ends, or is
left, they copy its last position before another game may take its place. The recorder (territorial.replay)
empties the log before it is full. A batch without a recorder has a log without room, on which
nothing is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.game.launches import NUM_LAUNCH_COLUMNS, LaunchList
from territorial.game.state import Game, Position, allocate_positions, write_position
from territorial.jit.decorators import njit

LOG_STEPS = 64
"""Environment steps that a log has room for, if every seat launches in all of them."""
NOT_RECORDED = -1


class Tape(NamedTuple):
    """Logs and last positions of R recorded games out of a batch of E."""

    slots: npt.NDArray[np.int64]  # (E,) which of the R a game is, or NOT_RECORDED
    launches: npt.NDArray[np.int32]  # (R, capacity, 4) see territorial.game.launches
    counts: npt.NDArray[np.int64]  # (R,) launches logged since the log was emptied
    board: npt.NDArray[np.uint8]  # (R, H+2, W+2) the position in which the last game ended
    numbers: npt.NDArray[np.int64]  # (R, see state.Position)


def make_tape(recorded: npt.NDArray[np.bool_], num_players: int, height: int, width: int) -> Tape:
    """Return the launch log of a batch; ``recorded``, bool (E,): the games that are recorded."""
    count = int(recorded.sum())
    last = allocate_positions(count, num_players, height, width)
    return Tape(
        slots=np.where(recorded, recorded.cumsum() - 1, NOT_RECORDED).astype(np.int64),
        launches=np.zeros((count, LOG_STEPS * num_players, NUM_LAUNCH_COLUMNS), np.int32),
        counts=np.zeros(count, np.int64),
        board=last.board,
        numbers=last.numbers,
    )


def last_position(tape: Tape, k: int) -> Position:
    """Return the position in which the last game in slot ``k`` of the batch ended, or was left: views."""
    slot = tape.slots[k]
    return Position(tape.board[slot], tape.numbers[slot])


@njit
def log_launches(tape: Tape, k: int, launches: LaunchList) -> None:
    """Append the launches of game ``k`` to its log, if it has one; those too many are counted and lost."""
    slot = tape.slots[k]
    if slot >= 0:
        for i in range(launches.first, launches.end):
            count = tape.counts[slot]
            if count < tape.launches.shape[1]:
                for column in range(NUM_LAUNCH_COLUMNS):
                    tape.launches[slot, count, column] = launches.rows[i, column]
            tape.counts[slot] = count + 1


@njit
def keep_position(tape: Tape, k: int, game: Game) -> None:
    """Keep the position of game ``k``, which is about to be replaced, if the game is recorded."""
    slot = tape.slots[k]
    if slot >= 0:
        write_position(game, tape.board[slot], tape.numbers[slot])
