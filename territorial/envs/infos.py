"""Infos of environments: numbers of agents, rewards and ends of episodes."""

from typing import Any, NamedTuple

import numpy as np

from territorial.config import GameConfig
from territorial.engine.recording import Launches
from territorial.engine.step import StepResults
from territorial.envs.forms import Observation
from territorial.game.state import PLAYERS
from territorial.jit.decorators import kernel, njit
from territorial.jit.simd import fill
from territorial.typing import Array, Bools, Floats32, Ints

COUNTS = ("alive", "land", "troops", "illegal", "raised", "bounced")
"""Whole numbers of the state that infos hold as they are."""

INFO_NAMES = (*COUNTS, "place", "tick")
"""The names of all numbers: counts, ``place`` (0.0 until it is known) and ``tick`` of the game."""

TEAM_NAMES = (*COUNTS, "team_of", "place", "tick")
"""Those of games with teams: ``team_of`` is the team 1..N of the seat."""

_COUNTED = np.array([PLAYERS[name] for name in (*COUNTS, "team")])
_PLACE = PLAYERS["doubled_place"]


def info_names(config: GameConfig) -> tuple[str, ...]:
    """Return the names of all numbers that infos have in games of ``config``."""
    return INFO_NAMES if config.teams is None else TEAM_NAMES


def agent_info(names: tuple[str, ...], players: Ints, ticks: Ints, seats: Ints) -> dict[str, Any]:
    """Return new arrays (E, A) by ``names``, as ``info_names`` lists them, for ``seats``, 1..P (E, A).

    ``players``, a block of the state (E, K, P+1), and ``ticks``, (E,), are of games as they stand, or as they
    ended. All are int64 but ``place``, float64.
    """
    counted = _COUNTED[: len(names) - 2]
    numbers, places = np.empty((len(counted) + 1, *seats.shape), np.int64), np.empty(seats.shape)
    write_numbers(players, counted, ticks, seats, numbers, places)
    return dict(zip(names, (*numbers[:-1], places, numbers[-1]), strict=True))


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
        for a in range(len(seats[k])):
            places[k, a] = players[k, _PLACE, seats[k, a]] / 2


@njit
def pick(values: Any, seats: Any, out: Any) -> None:
    """Write the entries of ``values`` (P,) for ``seats``, 1..P in their order (A,)."""
    if len(seats) == len(values):  # all of them: a copy takes a tenth of the time
        for i in range(len(values)):
            out[i] = values[i]
        return
    for a in range(len(seats)):
        out[a] = values[seats[a] - 1]


class StepOutcome(NamedTuple):
    """The results of a step before observations; E games, A agents per game, K parts of rewards."""

    rewards: Floats32  # (E, A)
    parts: Floats32  # (E, K, A)
    terminated: Bools  # (E, A)
    truncated: Bools  # (E, A)
    is_over: Bools  # (E,)
    was_reset: Bools  # (E,)
    launches: Launches | None  # copies, where the option asks for them
    final_obs: Observation | None = None
    final_info: dict[str, Array] | None = None


def nothing_played(num_games: int, num_parts: int, num_agents: int, launches: Launches | None) -> StepOutcome:
    """Return the results of a reset: all games have begun."""
    agents = num_games, num_agents
    return StepOutcome(
        rewards=np.zeros(agents, np.float32),
        parts=np.zeros((num_games, num_parts, num_agents), np.float32),
        terminated=np.zeros(agents, np.bool_),
        truncated=np.zeros(agents, np.bool_),
        is_over=np.zeros(num_games, np.bool_),
        was_reset=np.ones(num_games, np.bool_),
        launches=launches,
    )


def played_by(
    results: StepResults, rewards: Floats32, parts: Floats32, seats: Ints, is_kept: bool
) -> tuple[Floats32, Floats32, Bools, Bools, Bools, Bools]:
    """Return the first fields of ``StepOutcome``, new arrays, for the agents on ``seats``, 1..P (E, A).

    ``rewards`` (E, P) and ``parts`` (E, K, P) are those of all seats. ``is_kept``: whether agents stay to the
    end of their episode, where they are all terminated or all truncated.
    """
    num_games, num_agents = seats.shape
    given = np.empty((num_games, num_agents), np.float32)
    given_parts = np.empty((num_games, parts.shape[1], num_agents), np.float32)
    terminated, truncated = out_ends = np.empty((2, num_games, num_agents), np.bool_)
    ends = results.terminated, results.truncated, results.is_over, results.is_cut
    write_outcome(rewards, parts, ends, seats, is_kept, given, given_parts, out_ends)
    return given, given_parts, terminated, truncated, results.is_over.copy(), results.was_reset.copy()


@kernel
def write_outcome(
    rewards: Any, parts: Any, ends: Any, seats: Any, is_kept: bool, out: Any, out_parts: Any, out_ends: Any
) -> None:
    """Write rewards (E, P), parts (E, K, P) and ends of ``seats`` (E, A).

    ``ends``: who is terminated and who truncated, (E, P), which games are over and which are cut, (E,).
    ``out_ends``: the first two of ``seats``, (2, E, A).
    """
    terminated, truncated, is_over, is_cut = ends
    for k in range(len(seats)):
        pick(rewards[k], seats[k], out[k])
        for i in range(parts.shape[1]):
            pick(parts[k, i], seats[k], out_parts[k, i])
        if is_kept:
            for a in range(seats.shape[1]):
                out_ends[0, k, a], out_ends[1, k, a] = is_over[k] and not is_cut[k], is_cut[k]
        else:
            pick(terminated[k], seats[k], out_ends[0, k])
            pick(truncated[k], seats[k], out_ends[1, k])
