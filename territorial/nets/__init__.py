"""PyTorch networks for these observations, and their parts."""

from typing import TYPE_CHECKING

from territorial._lazy import lazily

if TYPE_CHECKING:  # editors and type checkers do not run __getattr__
    from territorial.nets.board_policy import BoardPolicy, FeatureTrunk, ReferenceTrunk
    from territorial.nets.frozen import FrozenPolicies
    from territorial.nets.frozen_seats import FrozenSeats
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
    "FrozenSeats",
    "OwnerConv2d",
    "PairPolicy",
    "Policy",
    "ReferenceTrunk",
    "SnapshotPolicy",
]

# The modules of the public names.
_HOMES = {
    "BoardPolicy": "territorial.nets.board_policy",
    "ExportError": "territorial.nets.pair_export",
    "ExportReport": "territorial.nets.pair_export",
    "FeatureTrunk": "territorial.nets.board_policy",
    "FrozenPolicies": "territorial.nets.frozen",
    "FrozenSeats": "territorial.nets.frozen_seats",
    "OwnerConv2d": "territorial.nets.owner_conv",
    "PairPolicy": "territorial.nets.pair_policy",
    "Policy": "territorial.nets.policy",
    "ReferenceTrunk": "territorial.nets.board_policy",
    "SnapshotPolicy": "territorial.nets.players",
}

__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
