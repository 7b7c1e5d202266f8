"""PyTorch networks for these observations, and their parts."""

from territorial.nets.board_policy import BoardPolicy, FeatureTrunk, ReferenceTrunk
from territorial.nets.frozen import FrozenPolicies
from territorial.nets.owner_conv import OwnerConv2d
from territorial.nets.pair_export import ExportError, ExportReport
from territorial.nets.pair_policy import PairPolicy
from territorial.nets.players import SnapshotPolicy
from territorial.nets.policy import Policy

__all__ = [
    "BoardPolicy",
    "ExportError",
    "ExportReport",
    "FeatureTrunk",
    "FrozenPolicies",
    "OwnerConv2d",
    "PairPolicy",
    "Policy",
    "ReferenceTrunk",
    "SnapshotPolicy",
]
