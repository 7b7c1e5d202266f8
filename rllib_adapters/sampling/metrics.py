"""What metrics say of a runner's steps, and of each game that is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from ray.rllib.utils.metrics import EPISODE_MODULE_RETURN_MEAN

from rllib_adapters.envs.batch import BatchStep
from rllib_adapters.envs.env_config import POOL, frozen_name, learner_name
from rllib_adapters.sampling.rollout import GameEpisode
from territorial.engine.batch_arrays import GameArrays

BY_PLAYER = "players"
"""The metric that has the others by the name of who learns."""
LAUNCHES = ("illegal", "raised", "bounced")
"""The counts of launches that the engine keeps."""


def told_of(game: GameEpisode, state: GameArrays) -> dict[str, Any]:
    """Return what metrics say of a game that stands in ``state`` as it ended.

    It has returns by module; place, wins, land, steps and launches of a seat that learns; and the same by who
    learns.
    """
    by_player: dict[str, list[int]] = {}
    for seat, name in game.players.items():
        by_player.setdefault(name, []).append(seat)
    return {
        EPISODE_MODULE_RETURN_MEAN: {
            name: float(game.returns[seats].sum()) for name, seats in by_player.items()
        },
        **_means(game, state, list(game.agents)),
        BY_PLAYER: {name: _means(game, state, seats) for name, seats in by_player.items()},
    }


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
    """The steps of a sample, of games and of agents; ``names``: of those who learn."""

    def __init__(self, names: Sequence[str], num_players: int) -> None:
        self._names, self._num_players = names, num_players
        self.clear()

    def clear(self) -> None:
        """Begin to count at 0."""
        self.games = 0
        """Steps of all games together."""
        self._learners = np.zeros((len(self._names), self._num_players), np.int64)
        self._frozen = np.zeros(self._num_players, np.int64)

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
            learner_name(self._names[n], int(i)): int(self._learners[n, i])
            for n, i in zip(*np.nonzero(self._learners), strict=True)
        }
        return counts | {frozen_name(i): int(self._frozen[i]) for i in np.flatnonzero(self._frozen).tolist()}

    def by_module(self) -> dict[str, int]:
        """Return the steps of the agents of each module that learns, and of the pool if it made any."""
        counts = dict(zip(self._names, self._learners.sum(1).tolist(), strict=True))
        return counts | ({POOL: int(self._frozen.sum())} if self._frozen.any() else {})
