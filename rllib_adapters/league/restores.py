"""What an algorithm that has trained needs beside RLlib's restoring, to be at another of its states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ray
from ray.rllib.core import COMPONENT_LEARNER, COMPONENT_RL_MODULE

from rllib_adapters import ray_private
from rllib_adapters.envs.agent_names import POOL
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.envs.outcomes import taken_from
from rllib_adapters.league.control import league_of, set_league
from rllib_adapters.league.curriculum import go_over
from rllib_adapters.learning.whole_states import WholeStates

BELOW_ALL = -(2**62)
"""A number of weights that stays below those of checkpoints while the thread of a learner counts on."""


@contextmanager
def newer_weights(algorithm: Any) -> Iterator[None]:
    """Have the weights that learners are given within the block in all learners and runners after it.

    RLlib's learners and runners pass over weights whose sequence number is not above that of their own. So
    learners have a number below all others when they are given a state, and its weights then get one above
    all before. Asynchronous learners learn nothing more from batches that waited for them.
    """
    learners = algorithm.learner_group
    (before, *_) = (one.get() for one in learners.foreach_learner(_take_number))
    try:
        yield
    finally:
        learners.foreach_learner(lambda learner: _set_number(learner, before))
    weights = f"{COMPONENT_LEARNER}/{COMPONENT_RL_MODULE}"
    state = learners.get_state(components=[weights], inference_only=True)[COMPONENT_LEARNER]
    shared = ray.put(state)  # RLlib's own call does not wait, and drops what is sent meanwhile
    for group in _groups(algorithm):
        group.foreach_env_runner(lambda runner: _play_with(runner, shared))


def set_games(algorithm: Any, env_config: Mapping[str, Any]) -> None:
    """Let an algorithm play the games of an ``env_config``; who plays is a kept league's to say."""
    present, wanted = algorithm.config.env_config, dict(env_config)
    table = league_of(algorithm) if algorithm.keeper else EnvConfig.from_config(wanted).table
    if "store" in present:
        wanted["store"] = present["store"]
    if _others(present) != _others(wanted):
        wanted.pop("seats", None)
        go_over(algorithm, {**wanted, "league": table})
    elif table.to_dict() != league_of(algorithm).to_dict():
        set_league(algorithm, table)


def _others(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of an ``env_config`` that do not say who plays."""
    known = EnvConfig.from_config(entries).to_dict()
    return {name: value for name, value in known.items() if name not in ("seats", "league")}


def begin_new_games(algorithm: Any) -> None:
    """Let all runners begin with new games; those of before, and how they ended, are forgotten."""
    for group in _groups(algorithm):
        group.foreach_env_runner(_begin_new)


def _groups(algorithm: Any) -> list[Any]:
    return [group for group in (algorithm.env_runner_group, algorithm.eval_env_runner_group) if group]


def _take_number(learner: Any) -> int:
    if isinstance(learner, WholeStates):
        learner.pass_over_waiting()
    number = ray_private.updates_of(learner)
    ray_private.set_updates(learner, BELOW_ALL)
    return number


def _set_number(learner: Any, before: int) -> None:
    least = before + 1 if before else 0
    ray_private.set_updates(learner, max(least, ray_private.updates_of(learner)))


def _play_with(runner: Any, shared: Any) -> None:
    if runner.module is not None:
        runner.set_state(ray.get(shared))


def _begin_new(runner: Any) -> None:
    taken_from(runner)
    ray_private.set_needs_reset(runner, True)
    if runner.module is not None and POOL in runner.module:
        # A snapshot that is open may be replaced by another one of its name before it acts again.
        runner.module[POOL].opponents.close()
