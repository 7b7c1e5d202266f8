"""What an environment tells of its agents beside observations: numbers of the games, rewards and ends."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.recording import Launches
from territorial.engine.step import StepResults
from territorial.engine.vec_game import VecGame
from territorial.envs.spaces import Observation
from territorial.game.state import PLAYERS, view
from territorial.jit.decorators import kernel, njit
from territorial.jit.simd import fill
from territorial.typing import Arrays, Bools, Floats, Floats32, Ints

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


class EngineViews:
    """Observations and infos of a batch whose agents, ``seats`` (E, A), keep their seats.

    ``observation``: arrays that are made read-only here, and show at any time how the games stand.
    """

    def __init__(self, game: VecGame, observation: Arrays, seats: npt.NDArray[np.int64]) -> None:
        self.observation = observation
        self._game, self._seats = game, seats
        self._are_all = seats.shape[1] == game.config.num_players
        state = game.state
        ticks = np.broadcast_to(state.tick[:, None], seats.shape)
        counts = counts_of(game.config)
        self._counts = {name: getattr(state, field)[:, 1:] for name, field in counts.items()}
        self._counts |= {"place": ticks, "tick": ticks}  # place keeps its place here
        for array in (*observation.values(), *self._counts.values()):
            array.flags.writeable = False

    def info(self) -> dict[str, npt.NDArray[Any]]:
        """Return what ``agent_info`` would, views where all seats are agents; places are new at any time."""
        if not self._are_all:
            return agent_info(self._game, self._seats)
        places = np.empty(self._seats.shape)
        write_places(self._game.blocks.players, self._seats, places)
        return self._counts | {"place": places}


class Played(NamedTuple):
    """What a step did, before anybody observes the games; E games, A agents a game, K parts of rewards."""

    rewards: Floats32  # (E, A)
    parts: Floats32  # (E, K, A)
    terminated: Bools  # (E, A)
    truncated: Bools  # (E, A)
    ended: Bools  # (E,)
    was_reset: Bools  # (E,)
    num_ended: int
    num_reset: int
    launches: Launches | None = None  # copies, where the option asks for them
    final_obs: Observation | None = None
    final_info: dict[str, npt.NDArray[Any]] | None = None


def played_by(
    results: StepResults,
    rewards: Floats32,
    parts: Floats32,
    seats: Ints,
    is_kept: bool,
    launches: Launches | None = None,
) -> Played:
    """Return new arrays of what the agents on ``seats``, 1..P (E, A), got for the step of ``results``.

    ``rewards`` (E, P) and ``parts`` (E, K, P) are those of all seats. ``is_kept``: whether agents stay to the
    end of their episode, where they are all terminated or all truncated. ``launches`` are handed on.
    """
    num_games, num_agents = seats.shape
    given = np.empty((num_games, num_agents), np.float32)
    given_parts = np.empty((num_games, parts.shape[1], num_agents), np.float32)
    terminated, truncated = np.empty((2, num_games, num_agents), np.bool_)
    ended, was_reset = np.empty((2, num_games), np.bool_)
    hand_out(rewards, parts, seats, given, given_parts)
    num_ended, num_reset = tell_ends(
        results.terminated,
        results.truncated,
        results.is_over,
        results.is_cut,
        results.was_reset,
        seats,
        is_kept,
        terminated,
        truncated,
        ended,
        was_reset,
    )
    return Played(given, given_parts, terminated, truncated, ended, was_reset, num_ended, num_reset, launches)


@kernel
def hand_out(rewards: Any, parts: Any, seats: Any, out: Any, out_parts: Any) -> None:
    """Write what ``seats`` (E, A) have of ``rewards`` (E, P) and ``parts`` (E, K, P)."""
    for k in range(len(seats)):
        pick(rewards[k], seats[k], out[k])
        for i in range(parts.shape[1]):
            pick(parts[k, i], seats[k], out_parts[k, i])


@kernel
def tell_ends(
    terminated: Any,
    truncated: Any,
    is_over: Any,
    is_cut: Any,
    was_reset: Any,
    seats: Any,
    is_kept: bool,
    out_terminated: Any,
    out_truncated: Any,
    out_over: Any,
    out_reset: Any,
) -> tuple[int, int]:
    """Write who of ``seats`` (E, A) is terminated or truncated, and which games ended and were reset.

    Returns how many games ended, and how many were reset.
    """
    num_over, num_reset = 0, 0
    for k in range(len(seats)):
        out_over[k], out_reset[k] = is_over[k], was_reset[k]
        num_over, num_reset = num_over + is_over[k], num_reset + was_reset[k]
        if is_kept:
            for a in range(seats.shape[1]):
                out_terminated[k, a], out_truncated[k, a] = is_over[k] and not is_cut[k], is_cut[k]
        else:
            pick(terminated[k], seats[k], out_terminated[k])
            pick(truncated[k], seats[k], out_truncated[k])
    return num_over, num_reset
