"""Calls of several decisions, between which Python takes part: who is notified, and what they give."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from territorial.actions.encoding import NO_TARGET
from territorial.engine.last_launches import LastLaunches, allocate_launches, launches_of, write_launches
from territorial.engine.step import StepResults

ADDED = ("rewards", "reward_parts")
"""What a call gives is the sum over its decisions."""
JOINED = ("terminated", "truncated", "ended", "is_over", "is_cut", "was_reset")
"""What a call gives is whether it happened in any of its decisions."""


class Listener(Protocol):
    """An observer of every decision of a call, such as a reward function of the user's own."""

    def before_decision(self) -> None:
        """The next decision of all games is about to be played."""

    def after_decision(self) -> None:
        """It was played, and the results are those of this decision alone."""


class Together:
    """What the decisions of one call give together.

    Args:
        results: the arrays that every decision overwrites.
        launched: the same of what the seats launched.

    """

    def __init__(self, results: StepResults, launched: LastLaunches) -> None:
        self._results, self._launched = results, launched
        self._last = launches_of(allocate_launches(*launched.target.shape))
        self._sums = {name: np.zeros_like(getattr(results, name)) for name in (*ADDED, *JOINED)}

    def add(self) -> None:
        """Add the decision just played: rewards in float32, as who steps decision by decision would."""
        for name in ADDED:
            self._sums[name] += getattr(self._results, name)
        for name in JOINED:
            self._sums[name] |= getattr(self._results, name)
        has_launched = self._launched.target != NO_TARGET
        for kept, array in zip(self._last, launches_of(self._launched), strict=True):
            kept[has_launched] = array[has_launched]

    def give_back(self) -> None:
        """Write what there is together over the results of the last decision."""
        for name, array in self._sums.items():
            getattr(self._results, name)[...] = array
        write_launches(self._launched, self._last)
