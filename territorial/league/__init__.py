"""Leagues, without any framework: frozen opponents, who plays which seat, and what it takes of memory."""

from territorial.league.errors import (
    DamagedSnapshotError,
    MismatchError,
    SnapshotError,
    UnknownSnapshotError,
)
from territorial.league.manifest import Manifest
from territorial.league.payoffs import Payoff, Payoffs
from territorial.league.store import Packed, SnapshotStore, Weights
from territorial.league.table import Group, LeagueTable, Player

__all__ = [
    "DamagedSnapshotError",
    "Group",
    "LeagueTable",
    "Manifest",
    "MismatchError",
    "Packed",
    "Payoff",
    "Payoffs",
    "Player",
    "SnapshotError",
    "SnapshotStore",
    "UnknownSnapshotError",
    "Weights",
]
