"""What metrics say of a runner's steps, and of each game that is over."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rllib_adapters.envs.agent_names import frozen_name
from rllib_adapters.envs.batch import BatchStep
from rllib_adapters.envs.roster import Roster
from rllib_adapters.sampling.rollout import GameEpisode
from territorial.engine.batch_arrays import GameArrays

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


def result_of(game: GameEpisode, state: GameArrays) -> Result:
    """Return how a game ended that stands in ``state`` as it did then."""
    assert game.returns is not None
    by_module: dict[str, float] = {}
    for seat, name in game.modules.items():
        by_module[name] = by_module.get(name, 0.0) + float(game.returns[seat])
    by_player: dict[str, list[int]] = {}
    for seat, name in game.players.items():
        by_player.setdefault(name, []).append(seat)
    return Result(
        length=game.length,
        total_return=float(game.returns.sum()),
        returns_by_module=by_module,
        seconds=time.perf_counter() - game.began,
        means=_means(game, state, list(game.agents)),
        means_by_player={name: _means(game, state, seats) for name, seats in by_player.items()},
    )


def _means(game: GameEpisode, state: GameArrays, learning: list[int]) -> dict[str, float]:
    k, seats = game.k, np.array(learning) + 1
    places = state.place2[k, seats] / 2
    known = places[places > 0]
    means = {
        "win_rate": float((places == 1).mean()),
        "land": float(state.land[k, seats].mean()),
        "steps": float(np.mean([game.steps_of(seat) for seat in learning])),
        **{f"{name}_launches": float(getattr(state, name)[k, seats].mean()) for name in LAUNCHES},
    }
    return means | ({"place": float(known.mean())} if len(known) else {})


class StepCounts:
    """The steps of a sample, of games and of agents; ``roster``: of those who learn."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self.clear()

    def clear(self) -> None:
        """Begin to count at 0."""
        self.games = 0
        """Steps of all games together."""
        seats = self._roster.num_players
        self._learners = np.zeros((len(self._roster.players), seats), np.int64)
        self._frozen = np.zeros(seats, np.int64)

    @property
    def agents(self) -> int:
        """Steps of all agents together."""
        return int(self._learners.sum() + self._frozen.sum())

    def add(self, step: BatchStep, who: npt.NDArray[np.int64]) -> None:
        """Count a step; ``who``: int64 (E, P) who learns with a seat of a game that took it."""
        self.games += int(step.stepped.sum())
        _, seats = np.nonzero(step.learners)
        np.add.at(self._learners, (who[step.learners], seats), 1)
        self._frozen += step.frozen.sum(0)

    def by_agent(self) -> dict[str, int]:
        """Return the steps of all agents that made any, by name."""
        counts = {
            self._roster.agents[n][i]: int(self._learners[n, i])
            for n, i in zip(*np.nonzero(self._learners), strict=True)
        }
        return counts | {frozen_name(i): int(self._frozen[i]) for i in np.flatnonzero(self._frozen).tolist()}

    def by_module(self) -> dict[str, int]:
        """Return the steps of the agents of each module that learns, and of the pool if it made any."""
        counts = dict.fromkeys(self._roster.module_names, 0)
        for n, i in zip(*np.nonzero(self._learners), strict=True):
            counts[self._roster.modules[n][i]] += int(self._learners[n, i])
        return counts | ({self._roster.pool: int(self._frozen.sum())} if self._frozen.any() else {})
