"""``ReplayBuffer``: agent steps to learn from again, each observation stored once."""

from __future__ import annotations

from typing import Any

import numpy as np
from ray.rllib.core.columns import Columns

from territorial.typing import Arrays, Floats, Ints

SMALLEST = 1e-6
"""What is added to an error, so that every step may be drawn again."""


class ReplayBuffer:
    """The newest agent steps of a module, drawn by priority.

    Observations are numbered as they come, and lie at their number modulo the capacity. A step has the number
    of its observation and leads to a higher one, which is replaced later.

    Args:
        capacity: observations that there is room for; from then on the oldest are replaced.
        alpha: exponent of priorities; 0 draws all steps equally often.
        seed: of the draws; None: any.

    """

    def __init__(self, capacity: int, alpha: float, seed: int | None) -> None:
        self.capacity, self._alpha, self._random = capacity, alpha, np.random.default_rng(seed)
        self._count = 0  # of all observations so far
        self._seen: Arrays = {}
        self._actions = np.zeros(capacity, np.int64)
        self._rewards = np.zeros(capacity, np.float32)
        self._next = np.zeros(capacity, np.int64)  # the number of the observation that a step leads to
        self._ends = np.zeros(capacity, np.bool_)
        self._priorities = np.zeros(capacity, np.float32)  # 0 where no step begins
        self._largest = 1.0
        # By agent that goes on, the number of what it saw last and its step; those of games given up stay.
        self._open: dict[str, tuple[int, int]] = {}
        self._drawn: Ints = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """Return how many steps can be drawn."""
        return int(np.count_nonzero(self._priorities))

    def add(self, own: Any) -> None:
        """Store a piece of an agent's episode; if it has no room, its end.

        It is joined to the piece before, unless samples between the two are lost.
        """
        if not len(own):  # it has only begun
            return
        steps = min(len(own), self.capacity - 1)
        oldest = self._count + steps - self.capacity  # once these are stored
        before, time = self._open.pop(own.id_, (-self.capacity, 0))
        goes_on = before >= max(oldest, 0) and steps == len(own) and time == own.t_started
        new = self._write(own.get_observations(), steps + (not goes_on))
        numbers = np.append(before, new) if goes_on else new
        at = numbers[:-1] % self.capacity
        self._actions[at], self._rewards[at] = own.get_actions()[-steps:], own.get_rewards()[-steps:]
        self._next[at], self._priorities[at] = numbers[1:], self._largest
        self._ends[at[-1]] = own.is_terminated
        if not own.is_done:
            self._open[own.id_] = int(numbers[-1]), own.t_started + len(own)

    def _write(self, seen: Arrays, count: int) -> Ints:
        """Put the last ``count`` observations in place of the oldest ones; return their numbers."""
        new = self._count + np.arange(count)
        self._count += count
        at = new % self.capacity
        for name, part in seen.items():
            if name not in self._seen:
                self._seen[name] = np.zeros((self.capacity, *part.shape[1:]), part.dtype)
            self._seen[name][at] = part[-count:]
        self._priorities[at], self._ends[at] = 0, False
        return new

    def sample(self, count: int, n_step: int, gamma: float, beta: float) -> dict[str, Any]:
        """Return the columns of DQN's loss for ``count`` steps, drawn with replacement.

        Each leads over ``n_step`` steps of its agent, or to the last one that there is. ``gamma``: the
        discount; ``beta``: how far weights make up for priorities, 0 to 1.
        """
        sums = self._priorities.cumsum(dtype=np.float64)
        drawn = sums.searchsorted(self._random.random(count) * sums[-1], side="right")
        at, steps, rewards = drawn, np.zeros(count, np.int64), np.zeros(count)
        ends = np.zeros(count, np.bool_)
        for _ in range(n_step):
            goes_on = (self._priorities[at] > 0) & ~ends
            rewards += goes_on * gamma**steps * self._rewards[at]
            ends |= goes_on & self._ends[at]
            at = np.where(goes_on, self._next[at] % self.capacity, at)
            steps += goes_on
        weights = (self._priorities[drawn] / sums[-1] * len(self)) ** -beta
        self._drawn = drawn
        return {
            Columns.OBS: {name: part[drawn] for name, part in self._seen.items()},
            Columns.NEXT_OBS: {name: part[at] for name, part in self._seen.items()},
            Columns.ACTIONS: self._actions[drawn],
            Columns.REWARDS: rewards.astype(np.float32),
            Columns.TERMINATEDS: ends,
            "n_step": steps,
            "weights": (weights / weights.max()).astype(np.float32),
        }

    def update_priorities(self, errors: Floats) -> None:
        """Draw the steps of the last sample by these errors from now on, float (count,), which are finite."""
        if not np.isfinite(errors).all():
            raise ValueError("errors of values are not finite; use a lower learning rate, or clip gradients")
        found = (np.abs(errors) + SMALLEST) ** self._alpha
        self._priorities[self._drawn] = found
        self._largest = max(self._largest, float(found.max()))
