"""Counts of what happened in a runner's games, kept as arrays and told once a sample."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rllib_adapters.batch import Step, TerritorialBatchEnv
from rllib_adapters.env import AGENT_PREFIX, FROZEN_PREFIX

LAUNCHES = ("illegal", "raised", "bounced")
"""The counts of launches that the engine keeps."""


class Result(NamedTuple):
    """How a game ended, for those who learn."""

    length: int
    """Steps."""
    returns: npt.NDArray[np.float64]
    """(P,) by seat, 0 for others."""
    learners: npt.NDArray[np.bool_]
    """(P,)"""
    seconds: float
    means: dict[str, float]
    """Place, wins, land and launches of a seat that learns."""

    @property
    def total_return(self) -> float:
        """The sum over all who learn."""
        return float(self.returns.sum())

    def by_module(self, modules: Sequence[str]) -> dict[str, float]:
        """Return the sums over the seats of each module; ``modules``: by seat."""
        sums: dict[str, float] = {}
        for i in np.flatnonzero(self.learners).tolist():
            sums[modules[i]] = sums.get(modules[i], 0.0) + float(self.returns[i])
        return sums


class Tally:
    """What is counted of the games of ``env``; a game that is over is kept until it is taken."""

    def __init__(self, env: TerritorialBatchEnv) -> None:
        self._env = env
        self.clear()
        self.clear_steps()

    def clear(self) -> None:
        """Forget the games under way and those that are over."""
        shape = self._env.learners.shape
        self._returns = np.zeros(shape)
        self._learners = np.zeros(shape, np.bool_)
        self._lengths = np.zeros(shape[0], np.int64)
        self._began = np.full(shape[0], time.perf_counter())
        self._results: list[Result] = []

    def clear_steps(self) -> None:
        """Begin to count steps at 0."""
        self._learner_steps = np.zeros(self._env.learners.shape[1], np.int64)
        self._frozen_steps = np.zeros(self._env.learners.shape[1], np.int64)

    def add(self, step: Step) -> None:
        """Count a step; called before the games that it ended begin anew."""
        self._learner_steps += step.learners.sum(0)
        self._frozen_steps += step.frozen.sum(0)
        self._returns += np.where(step.learners, step.rewards, 0)
        self._learners |= step.learners
        self._lengths += step.stepped
        for k in np.flatnonzero(step.done):
            self._results.append(self._result(int(k)))
            self._returns[k], self._learners[k], self._lengths[k] = 0, False, 0
            self._began[k] = time.perf_counter()

    def take(self, games: Sequence[object]) -> list[Result]:
        """Return the results of as many games that are over as ``games`` are, and forget them all."""
        results, self._results = self._results, []
        return results[: len(games)]

    def take_steps(self, modules: Sequence[str], pool: str) -> tuple[dict[str, int], dict[str, int]]:
        """Return the agent steps since the last call by agent and by module; ``modules``: by seat."""
        by_agent, by_module = {}, dict.fromkeys(modules, 0)
        for i, count in enumerate(self._learner_steps.tolist()):
            by_agent[f"{AGENT_PREFIX}{i}"] = count
            by_module[modules[i]] += count
        for i, count in enumerate(self._frozen_steps.tolist()):
            by_agent[f"{FROZEN_PREFIX}{i}"] = count
        if self._frozen_steps.any():
            by_module[pool] = int(self._frozen_steps.sum())
        self.clear_steps()
        return {agent: count for agent, count in by_agent.items() if count}, by_module

    def _result(self, k: int) -> Result:
        state, seats = self._env.game.state, np.flatnonzero(self._learners[k]) + 1
        places = state.place2[k, seats] / 2
        known = places[places > 0]
        means = {
            "win_rate": float((places == 1).mean()),
            "land": float(state.land[k, seats].mean()),
            **{f"{name}_launches": float(getattr(state, name)[k, seats].mean()) for name in LAUNCHES},
        }
        if len(known):
            means["place"] = float(known.mean())
        seconds = time.perf_counter() - self._began[k]
        return Result(
            int(self._lengths[k]), self._returns[k].copy(), self._learners[k].copy(), seconds, means
        )
