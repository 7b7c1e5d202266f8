"""Leagues, without any framework: frozen opponents, who plays which seat, and what it takes of memory."""

from territorial.league.errors import (
    DamagedSnapshotError,
    MismatchError,
    SnapshotError,
    StoreInUseError,
    UnknownSnapshotError,
)
from territorial.league.league import Frozen, GateView, League
from territorial.league.manifest import Manifest
from territorial.league.matchmaking import Opponents
from territorial.league.members import Gate, LeagueConfig, Learner
from territorial.league.outcome import Outcome
from territorial.league.payoff_matrix import Payoff, PayoffMatrix
from territorial.league.store import Packed, SnapshotStore, Weights
from territorial.league.table import Group, LeagueTable, Player

__all__ = [
    "DamagedSnapshotError",
    "Frozen",
    "Gate",
    "GateView",
    "Group",
    "League",
    "LeagueConfig",
    "LeagueTable",
    "Learner",
    "Manifest",
    "MismatchError",
    "Opponents",
    "Outcome",
    "Packed",
    "Payoff",
    "PayoffMatrix",
    "Player",
    "SnapshotError",
    "SnapshotStore",
    "StoreInUseError",
    "UnknownSnapshotError",
    "Weights",
]
