"""Leagues, independent of frameworks: matchmaking, snapshots that processes share, ratings."""

from territorial.evaluation.outcome import Outcome
from territorial.evaluation.ratings import Payoff, PayoffMatrix
from territorial.league.config import Gate, LeagueConfig, Learner, Opponents
from territorial.league.league import FreezeResult, GateStatus, League
from territorial.league.seating import Group, LineUpDistribution, LineUpMixture, Player
from territorial.league.store import (
    DamagedSnapshotError,
    Manifest,
    MismatchError,
    SnapshotBundle,
    SnapshotError,
    SnapshotStore,
    StoreInUseError,
    UnknownSnapshotError,
    Weights,
)

__all__ = [
    "DamagedSnapshotError",
    "FreezeResult",
    "Gate",
    "GateStatus",
    "Group",
    "League",
    "LeagueConfig",
    "Learner",
    "LineUpDistribution",
    "LineUpMixture",
    "Manifest",
    "MismatchError",
    "Opponents",
    "Outcome",
    "Payoff",
    "PayoffMatrix",
    "Player",
    "SnapshotBundle",
    "SnapshotError",
    "SnapshotStore",
    "StoreInUseError",
    "UnknownSnapshotError",
    "Weights",
]
