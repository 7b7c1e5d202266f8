"""What can be wrong with a snapshot."""

from __future__ import annotations


class SnapshotError(Exception):
    """Something is wrong with a snapshot; the message names it."""


class UnknownSnapshotError(SnapshotError, LookupError):
    """There is no snapshot of that name."""


class DamagedSnapshotError(SnapshotError, ValueError):
    """The files of a snapshot are not as they were written."""


class StoreInUseError(SnapshotError, RuntimeError):
    """Another run writes to the store."""


class MismatchError(SnapshotError, ValueError):
    """A snapshot was made for something else: another architecture, observation, version or size."""
