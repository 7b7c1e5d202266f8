"""Counts of what happened in a runner's games, kept as arrays and told once a sample."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rllib_adapters.envs.agent_names import frozen_name
from rllib_adapters.envs.batch import BatchStep, TerritorialBatchEnv
from rllib_adapters.envs.roster import Roster

LAUNCHES = ("illegal", "raised", "bounced")
"""The counts of launches that the engine keeps."""


class Result(NamedTuple):
    """How a game ended, for those who learn."""

    length: int
    """Steps."""
    total_return: float
    """The sum over all who learn."""
    returns_by_module: dict[str, float]
    seconds: float
    means: dict[str, float]
    """Place, wins, land, steps and launches of a seat that learns."""
    means_by_player: dict[str, dict[str, float]]
    """The same of the seats of each who learns."""


class GameTally:
    """What is counted of the games of ``env``; a game that is over is kept until it is taken."""

    def __init__(self, env: TerritorialBatchEnv, roster: Roster) -> None:
        self._env, self._roster = env, roster
        self.clear()
        self.clear_steps()

    def clear(self) -> None:
        """Forget the games in progress and those that are over."""
        shape = self._env.learners.shape
        self._returns = np.zeros(shape)
        self._acted = np.zeros(shape, np.int64)
        self._lengths = np.zeros(shape[0], np.int64)
        self._began = np.full(shape[0], time.perf_counter())
        self._results: list[Result] = []

    def clear_steps(self) -> None:
        """Begin to count steps at 0."""
        num_players = self._env.learners.shape[1]
        self._steps = np.zeros((len(self._roster.players), num_players), np.int64)
        self._frozen_steps = np.zeros(num_players, np.int64)

    def add(self, step: BatchStep) -> None:
        """Count a step; called before the games that it ended are reset."""
        _, seats = np.nonzero(step.learners)
        np.add.at(self._steps, (self._env.who[step.learners], seats), 1)
        self._frozen_steps += step.frozen.sum(0)
        self._returns += np.where(step.learners, step.rewards, 0)
        self._acted += step.learners
        self._lengths += step.stepped
        for k in np.flatnonzero(step.done):
            self._results.append(self._result(int(k)))
            self._returns[k], self._acted[k], self._lengths[k] = 0, 0, 0
            self._began[k] = time.perf_counter()

    def take(self, games: Sequence[object]) -> list[Result]:
        """Return the results of as many games that are over as ``games`` are, and forget them all."""
        results, self._results = self._results, []
        return results[: len(games)]

    def take_steps(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the agent steps since the last call by agent and by module; all that learn are there."""
        roster, by_agent = self._roster, dict[str, int]()
        by_module = dict.fromkeys(roster.module_names, 0)
        for n, i in zip(*np.nonzero(self._steps), strict=True):
            count = int(self._steps[n, i])
            by_agent[roster.agents[n][i]] = count
            by_module[roster.modules[n][i]] += count
        for i in np.flatnonzero(self._frozen_steps).tolist():
            by_agent[frozen_name(i)] = int(self._frozen_steps[i])
        if self._frozen_steps.any():
            by_module[roster.pool] = int(self._frozen_steps.sum())
        self.clear_steps()
        return by_agent, by_module

    def _result(self, k: int) -> Result:
        who, roster = self._env.who[k], self._roster
        learned = self._acted[k] > 0
        by_module: dict[str, float] = {}
        for i in np.flatnonzero(learned).tolist():
            name = roster.modules[who[i]][i]
            by_module[name] = by_module.get(name, 0.0) + float(self._returns[k, i])
        players = {roster.players[n]: np.flatnonzero(who == n) for n in np.unique(who[learned])}
        return Result(
            length=int(self._lengths[k]),
            total_return=float(self._returns[k].sum()),
            returns_by_module=by_module,
            seconds=time.perf_counter() - self._began[k],
            means=self._means(k, np.flatnonzero(learned)),
            means_by_player={name: self._means(k, seats) for name, seats in players.items()},
        )

    def _means(self, k: int, seats: npt.NDArray[np.int64]) -> dict[str, float]:
        state, places = self._env.game.state, self._env.game.state.place2[k, seats + 1] / 2
        known = places[places > 0]
        means = {
            "win_rate": float((places == 1).mean()),
            "land": float(state.land[k, seats + 1].mean()),
            "steps": float(self._acted[k, seats].mean()),
            **{f"{name}_launches": float(getattr(state, name)[k, seats + 1].mean()) for name in LAUNCHES},
        }
        return means | ({"place": float(known.mean())} if len(known) else {})
