"""The games of environments that are over, kept until they are read, and collected from all runners."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm

from territorial.engine.batch_arrays import GameArrays
from territorial.evaluation.outcome import known_places, places_now
from territorial.league import Outcome, Player

MOST = 2_000
"""Outcomes that an environment keeps; older ones are dropped, where they are not read."""


def outcome(players: Sequence[Player], state: GameArrays, k: int, *, is_cut: bool) -> Outcome:
    """Return how game ``k`` stands, which is over for its environment.

    Those who live are placed by land if it was cut, since that is its result. If it was left because
    no module learns from it any more, their places are not known.
    """
    places = places_now(state, k) if is_cut else known_places(state, k)
    names = tuple(sys.intern(str(player)) for player in players)  # the same ones game after game
    teams = state.team[k, 1:]
    has_allies = int(teams.max()) < len(teams)
    return Outcome(names, tuple(places.tolist()), tuple(teams.tolist()) if has_allies else ())


def outcomes_of(algorithm: Algorithm, *, evaluation: bool = False) -> list[Outcome]:
    """Return how the games of all runners ended since the last call, runner by runner.

    Every environment keeps no more than its last ``MOST`` games.

    Args:
        algorithm: the algorithm whose runners played.
        evaluation: True: games of the runners of evaluations. Where there are none, the other runners play
            the evaluations. Default False.

    """
    own = algorithm.eval_env_runner_group if evaluation else None
    group = algorithm.env_runner_group if own is None else own
    return [outcome for games in group.foreach_env_runner(taken_from) for outcome in games]


def taken_from(runner: Any) -> list[Outcome]:
    """Return how the games of one runner ended, of either kind, and have it forget them."""
    if runner.env is None:
        return []
    envs = [runner.env] if hasattr(runner.env, "outcomes") else [env.unwrapped for env in runner.env.envs]
    taken = [game for env in envs for game in env.outcomes]
    for env in envs:
        env.outcomes.clear()
    return taken
