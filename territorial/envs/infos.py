"""What an environment tells of its agents beside observations: numbers, the same names at every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.engine.step import StepResults
from territorial.engine.vec_game import VecGame
from territorial.game.state import PLAYERS, view
from territorial.jit.decorators import kernel
from territorial.typing import Floats, Ints

COUNTS = ("alive", "land", "troops", "illegal", "raised", "bounced")
"""Whole numbers of the state that infos hold as they are."""

INFO_NAMES = (*COUNTS, "place", "tick")
"""The names of all numbers: counts, ``place`` (0.0 until it is known) and ``tick`` of the game."""

_COUNTS = np.array([PLAYERS[name] for name in COUNTS])
_PLACE = PLAYERS["place2"]


def agent_info(game: VecGame, seats: Ints) -> dict[str, npt.NDArray[Any]]:
    """Return new arrays (E, A) of the infos of ``seats``, 1..P (E, A), by ``INFO_NAMES``.

    All are int64 but ``place``, float64.
    """
    return _by_name(*_numbers(game.blocks.players, view(game.blocks, "tick"), seats))


def final_info(results: StepResults, seats: Ints) -> dict[str, npt.NDArray[Any]]:
    """Return ``agent_info`` of the last episode of every game, of ``seats`` (E, A) in it."""
    return _by_name(*_numbers(results.final_players, results.final_length, seats))


def listed_info(game: VecGame, seats: Ints) -> dict[str, list[float]]:
    """Return ``agent_info`` of one game as lists, of ``seats`` (A,)."""
    numbers, places = _numbers(game.blocks.players, view(game.blocks, "tick"), seats[None])
    return _by_name(numbers[:, 0].tolist(), places[0].tolist())


def _by_name(numbers: Any, places: Any) -> dict[str, Any]:
    return dict(zip(INFO_NAMES, (*numbers[:-1], places, numbers[-1]), strict=True))


def _numbers(players: Ints, ticks: Ints, seats: Ints) -> tuple[Ints, Floats]:
    numbers, places = np.empty((len(_COUNTS) + 1, *seats.shape), np.int64), np.empty(seats.shape)
    write_numbers(players, _COUNTS, ticks, seats, numbers, places)
    return numbers, places


@kernel
def write_numbers(players: Any, counts: Any, ticks: Any, seats: Any, out: Any, places: Any) -> None:
    """Write the rows ``counts`` of ``players`` (E, K, P+1) for ``seats`` (E, A), the ticks and the places.

    ``out``: int64 (len(counts) + 1, E, A); with ticks last; ``places``: float64 (E, A).
    """
    last, num_agents = len(counts), seats.shape[1]
    for k in range(len(seats)):
        for i in range(last):
            for a in range(num_agents):
                out[i, k, a] = players[k, counts[i], seats[k, a]]
        for a in range(num_agents):
            places[k, a] = players[k, _PLACE, seats[k, a]] / 2
            out[last, k, a] = ticks[k]
