"""Leagues, without any framework: who learns, who plays which seat, and when copies are frozen."""

from territorial.evaluation.outcome import Outcome
from territorial.evaluation.payoff import Payoff, PayoffMatrix
from territorial.league.config import Gate, LeagueConfig, Learner
from territorial.league.league import Frozen, GateView, League
from territorial.league.matchmaking import Opponents
from territorial.league.seating import Group, LeagueTable, Player
from territorial.snapshots.manifest import (
    DamagedSnapshotError,
    Manifest,
    MismatchError,
    SnapshotError,
    StoreInUseError,
    UnknownSnapshotError,
)
from territorial.snapshots.store import Packed, SnapshotStore, Weights

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
