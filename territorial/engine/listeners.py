"""Observers of games that are played: watchers of a batch, such as recorders, and listeners of a call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Watcher(Protocol):
    """An observer of a batch, such as a recorder: its methods are called after each event of the games.

    Each begins as one that does nothing: NO_WATCHER has no others.
    """

    def before_reset(self, games: Iterable[int]) -> None:
        """These games are about to be replaced."""
        return

    def after_reset(self, games: Iterable[int]) -> None:
        """These games have just begun."""
        return

    def after_step(self) -> None:
        """A step was played; what it left is in the batch's results and in its launch log."""
        return

    def after_play(self, k: int, launches: npt.NDArray[np.int64]) -> None:
        """Game ``k`` played ticks with ``launches``, (N, 4): tick, seat, owner code, 1024ths."""
        return

    def after_placing(self, k: int) -> None:
        """Game ``k`` was put into another position."""
        return


class _NoWatcher(Watcher):
    """Does nothing with what it is notified of."""


NO_WATCHER: Watcher = _NoWatcher()
"""The watcher of a batch that has none."""


class Listener(Protocol):
    """An observer of every decision of a call, such as a reward function of the user's own."""

    def before_decision(self) -> None:
        """The next decision of all games is about to be played."""

    def after_decision(self) -> None:
        """It was played, and the results are those of this decision alone."""
