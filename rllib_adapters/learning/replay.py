"""``ReplayBuffer``: agent steps to learn from again, each observation stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from ray.rllib.core.columns import Columns
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from territorial.typing import Arrays, Bools, Floats, Ints

SMALLEST = 1e-6
"""What is added to an error, so that every step may be drawn again."""


class ReplayBuffer:
    """The newest agent steps of every module that learns, drawn by priority.

    Args:
        capacity: observations that each module has room for; from then on the oldest are replaced.
        alpha: exponent of priorities; 0 draws all steps equally often.
        seed: of the draws; None: any.

    """

    def __init__(self, capacity: int, alpha: float, seed: int | None) -> None:
        self._made_with = capacity, alpha, np.random.default_rng(seed)
        self.modules: dict[str, ReplayedModule] = {}
        """By name, those that have acted."""

    def __len__(self) -> int:
        """Return how many steps can be drawn, of all modules."""
        return sum(map(len, self.modules.values()))

    def add(self, episodes: Sequence[Any]) -> None:
        """Store the steps of all agents in pieces of episodes, of which each may go on an earlier one."""
        for episode in episodes:
            for own in episode.agent_episodes.values():
                module = self.modules.setdefault(own.module_id, ReplayedModule(*self._made_with))
                module.add(own)
        for module in self.modules.values():
            module.forget()

    def sample(self, count: int, n_step: int, gamma: float, beta: float) -> MultiAgentBatch:
        """Return a train batch of ``count`` steps of each module, drawn with replacement."""
        rows = {name: module.sample(count, n_step, gamma, beta) for name, module in self.modules.items()}
        return MultiAgentBatch({name: SampleBatch(own) for name, own in rows.items()}, env_steps=count)

    def update_priorities(self, errors: Mapping[str, Floats]) -> None:
        """Draw the steps of the last sample by these errors from now on, float (count,) of each module."""
        for name, own in errors.items():
            self.modules[name].update_priorities(own)


class ReplayedModule:
    """The steps of one module. Observations are numbered as they come, and a place is a number modulo room.

    A step has its observation's number, and leads to a later one, so that it is gone first. Arguments are
    those of a ``ReplayBuffer``.
    """

    def __init__(self, capacity: int, alpha: float, random: np.random.Generator) -> None:
        self._room, self._alpha, self._random = capacity, alpha, random
        self._count = 0  # of all observations so far
        self._seen: Arrays = {}
        self._actions = np.zeros(capacity, np.int64)
        self._rewards = np.zeros(capacity, np.float32)
        self._next = np.zeros(capacity, np.int64)  # the number of the observation that a step leads to
        self._ends: Bools = np.zeros(capacity, np.bool_)
        self._priorities = np.zeros(capacity, np.float32)  # 0 where no step begins
        self._largest = 1.0
        self._open: dict[str, int] = {}  # by agent that goes on, the number of what it saw last
        self._drawn: Ints = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._priorities))

    @property
    def nbytes(self) -> int:
        """Bytes that it takes once it is full."""
        own = self._actions, self._rewards, self._next, self._ends, self._priorities
        return sum(part.nbytes for part in (*self._seen.values(), *own))

    def add(self, own: Any) -> None:
        """Store a piece of an agent's episode; of one that has no room, the newest part."""
        seen, rewards = own.get_observations(), np.asarray(own.get_rewards(), np.float32)
        before = self._open.pop(own.id_, None)
        steps = min(len(rewards), self._room - 1)
        oldest = self._count + steps - self._room  # once these are stored
        goes_on = before is not None and before >= oldest and steps == len(rewards)
        new = self._write({name: part[-steps - (not goes_on) :] for name, part in seen.items()})
        numbers = np.append(before, new) if goes_on else new
        at = numbers[:-1] % self._room
        self._actions[at], self._rewards[at] = own.get_actions()[-steps:], rewards[-steps:]
        self._next[at], self._priorities[at] = numbers[1:], self._largest
        self._ends[at[-1]] = own.is_terminated
        if not own.is_done:
            self._open[own.id_] = int(numbers[-1])

    def _write(self, seen: Mapping[str, npt.NDArray[Any]]) -> Ints:
        """Put observations in place of the oldest ones; return their numbers."""
        if not self._seen:
            self._seen = {
                name: np.zeros((self._room, *part.shape[1:]), part.dtype) for name, part in seen.items()
            }
        new = self._count + np.arange(len(next(iter(seen.values()))))
        self._count += len(new)
        at = new % self._room
        for name, part in seen.items():
            self._seen[name][at] = part
        self._priorities[at], self._ends[at] = 0, False
        return new

    def forget(self) -> None:
        """Forget agents whose last observation is gone: their games were given up."""
        oldest = self._count - self._room
        self._open = {agent: number for agent, number in self._open.items() if number >= oldest}

    def sample(self, count: int, n_step: int, gamma: float, beta: float) -> dict[str, Any]:
        """Return the columns of DQN's loss for ``count`` steps.

        A step leads over ``n_step`` steps of its agent, or to the last one that there is.
        """
        sums = self._priorities.cumsum(dtype=np.float64)
        drawn = sums.searchsorted(self._random.random(count) * sums[-1], side="right")
        at, steps, rewards = drawn, np.zeros(count, np.int64), np.zeros(count, np.float32)
        goes_on, ends = np.ones(count, np.bool_), np.zeros(count, np.bool_)
        for _ in range(n_step):
            goes_on = goes_on & (self._priorities[at] > 0)
            rewards += np.where(goes_on, gamma**steps * self._rewards[at], 0).astype(np.float32)
            ends |= goes_on & self._ends[at]
            at = np.where(goes_on, self._next[at] % self._room, at)
            steps += goes_on
        weights = (self._priorities[drawn] / sums[-1] * len(self)) ** -beta
        self._drawn = drawn
        return {
            Columns.OBS: {name: part[drawn] for name, part in self._seen.items()},
            Columns.NEXT_OBS: {name: part[at] for name, part in self._seen.items()},
            Columns.ACTIONS: self._actions[drawn],
            Columns.REWARDS: rewards,
            Columns.TERMINATEDS: ends,
            "n_step": steps,
            "weights": (weights / weights.max()).astype(np.float32),
        }

    def update_priorities(self, errors: Floats) -> None:
        """Draw the steps of the last sample by these errors from now on, float (count,)."""
        found = np.abs(errors) + SMALLEST
        self._priorities[self._drawn] = found**self._alpha
        self._largest = max(self._largest, float(self._priorities[self._drawn].max()))
