"""What an environment tells of its agents beside observations: numbers, the same names at every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.step import StepResults
from territorial.engine.vec_game import VecGame
from territorial.game.state import PLAYERS, view
from territorial.jit.decorators import kernel, njit
from territorial.jit.simd import fill
from territorial.typing import Floats, Ints

COUNTS = ("alive", "land", "troops", "illegal", "raised", "bounced")
"""Whole numbers of the state that infos hold as they are."""

INFO_NAMES = (*COUNTS, "place", "tick")
"""The names of all numbers: counts, ``place`` (0.0 until it is known) and ``tick`` of the game."""

TEAM_COUNTS = {name: name for name in COUNTS} | {"team_of": "team"}
"""With teams, names of whole numbers in infos and in the state."""

_ROWS = {
    has_teams: np.array([PLAYERS[name] for name in names])
    for has_teams, names in ((False, COUNTS), (True, tuple(TEAM_COUNTS.values())))
}
_PLACE = PLAYERS["place2"]


def counts_of(config: GameConfig) -> dict[str, str]:
    """Return the whole numbers of infos by name, each with the name of its field of the state."""
    return {name: name for name in COUNTS} if config.teams is None else TEAM_COUNTS


def info_names(config: GameConfig) -> tuple[str, ...]:
    """Return ``INFO_NAMES``, and with teams ``team_of`` among them: the team 1..N of the seat."""
    return (*counts_of(config), "place", "tick")


def agent_info(game: VecGame, seats: Ints) -> dict[str, npt.NDArray[Any]]:
    """Return new arrays (E, A) of the infos of ``seats``, 1..P (E, A), by ``info_names``.

    All are int64 but ``place``, float64.
    """
    config, players = game.config, game.blocks.players
    return _by_name(config, *_numbers(config, players, view(game.blocks, "tick"), seats))


def final_info(config: GameConfig, results: StepResults, seats: Ints) -> dict[str, npt.NDArray[Any]]:
    """Return ``agent_info`` of the last episode of every game, of ``seats`` (E, A) in it."""
    return _by_name(config, *_numbers(config, results.final_players, results.final_length, seats))


def listed_info(game: VecGame, seats: Ints) -> dict[str, list[float]]:
    """Return ``agent_info`` of one game as lists, of ``seats`` (A,)."""
    ticks = view(game.blocks, "tick")
    numbers, places = _numbers(game.config, game.blocks.players, ticks, seats[None])
    return _by_name(game.config, numbers[:, 0].tolist(), places[0].tolist())


def _by_name(config: GameConfig, numbers: Any, places: Any) -> dict[str, Any]:
    return dict(zip(info_names(config), (*numbers[:-1], places, numbers[-1]), strict=True))


def _numbers(config: GameConfig, players: Ints, ticks: Ints, seats: Ints) -> tuple[Ints, Floats]:
    rows = _ROWS[config.teams is not None]
    numbers, places = np.empty((len(rows) + 1, *seats.shape), np.int64), np.empty(seats.shape)
    write_numbers(players, rows, ticks, seats, numbers, places)
    return numbers, places


@kernel
def write_numbers(players: Any, counts: Any, ticks: Any, seats: Any, out: Any, places: Any) -> None:
    """Write the rows ``counts`` of ``players`` (E, K, P+1) for ``seats`` (E, A), the ticks and the places.

    ``out``: int64 (len(counts) + 1, E, A), with ticks last; ``places``: float64 (E, A).
    """
    last = len(counts)
    for k in range(len(seats)):
        for i in range(last):
            pick(players[k, counts[i], 1:], seats[k], out[i, k])
        fill(out[last, k], ticks[k])
        halve(players[k, _PLACE], seats[k], places[k])


@kernel
def write_places(players: Any, seats: Any, out: Any) -> None:
    """Write the places of ``seats`` (E, A), 0 where they are not known, to ``out``, float64 (E, A)."""
    for k in range(len(seats)):
        halve(players[k, _PLACE], seats[k], out[k])


@njit
def halve(doubled: Any, seats: Any, out: Any) -> None:
    """Write half of what ``doubled`` (P+1,) has for ``seats`` (A,)."""
    for a in range(len(seats)):
        out[a] = doubled[seats[a]] / 2


@njit
def pick(values: Any, seats: Any, out: Any) -> None:
    """Write the entries of ``values`` (P,) for ``seats``, 1..P in their order (A,)."""
    if len(seats) == len(values):  # all of them: a copy takes a tenth of the time
        for i in range(len(values)):
            out[i] = values[i]
        return
    for a in range(len(seats)):
        out[a] = values[seats[a] - 1]
