"""What can be wrong with a replay."""

from __future__ import annotations


class ReplayError(ValueError):
    """What should be a replay is none, or none that can be played here; the message says why."""


class DivergedError(ReplayError):
    """The game, played again, is not the one that was recorded."""
