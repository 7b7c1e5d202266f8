"""What a step gave the agents of all games: rewards, their parts and ends, written by one kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.engine.recording import Launches
from territorial.engine.step import StepResults
from territorial.envs.infos import pick
from territorial.envs.spaces import Observation
from territorial.jit.decorators import kernel
from territorial.typing import Bools, Floats32, Ints


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
