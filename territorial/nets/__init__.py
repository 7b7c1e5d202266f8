"""Parts of networks that are made for these observations; they need PyTorch."""

from territorial.nets.board_policy import BoardPolicy
from territorial.nets.features import FeatureTrunk
from territorial.nets.frozen import FrozenPolicies
from territorial.nets.owner_conv import OwnerConv2d
from territorial.nets.reference import ReferenceTrunk

__all__ = ["BoardPolicy", "FeatureTrunk", "FrozenPolicies", "OwnerConv2d", "ReferenceTrunk"]
