"""What an environment tells of its agents beside observations: numbers, the same names at every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.engine.step import StepResults
from territorial.engine.vec_game import VecGame
from territorial.game.state import PLAYERS, view
from territorial.jit.decorators import kernel

COUNTS = ("alive", "land", "troops", "illegal", "raised", "bounced")
"""Whole numbers of the state that infos hold as they are."""

INFO_NAMES = (*COUNTS, "place", "tick")
"""The names of all numbers: counts, ``place`` (0.0 until it is known) and ``tick`` of the game."""

_COLUMNS = np.array([PLAYERS[name] for name in (*COUNTS, "place2")])


def agent_info(game: VecGame, seats: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    """Return new arrays (E, A) of the infos of ``seats``, 1..P (E, A), by ``INFO_NAMES``.

    All are int64 but ``place``, float64.
    """
    return _infos(game.blocks.players, view(game.blocks, "tick"), seats)


def final_info(results: StepResults, seats: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    """Return ``agent_info`` of the last episode of every game, of ``seats`` (E, A) in it."""
    return _infos(results.final_players, results.final_length, seats)


def _infos(
    players: npt.NDArray[np.int64], ticks: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[Any]]:
    numbers = np.empty((len(_COLUMNS) + 1, *seats.shape), np.int64)
    write_numbers(players, _COLUMNS, ticks, seats, numbers)
    info: dict[str, npt.NDArray[Any]] = dict(zip(COUNTS, numbers, strict=False))
    return info | {"place": numbers[-2] / 2, "tick": numbers[-1]}


@kernel
def write_numbers(players: Any, columns: Any, ticks: Any, seats: Any, out: Any) -> None:
    """Write ``columns`` of the table ``players`` (E, K, P+1) for ``seats`` (E, A), and last the ticks.

    ``out``: int64 (len(columns) + 1, E, A).
    """
    num_columns, num_agents = len(columns), seats.shape[1]
    for k in range(len(seats)):
        for i in range(num_columns):
            for a in range(num_agents):
                out[i, k, a] = players[k, columns[i], seats[k, a]]
        for a in range(num_agents):
            out[num_columns, k, a] = ticks[k]
