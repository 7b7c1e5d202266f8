"""Decoding: per-agent observations from the data that a game writes once.

``decode.numpy.Decoder`` and ``decode.torch.Decoder`` have the same methods and give the same bits.
"""

from territorial.decode.boards import onehot_shape, owners_shape, pooled_shape, semantic_shape
from territorial.decode.features import FeatureDecoder, feature_names, pair_names, state_names

__all__ = [
    "FeatureDecoder",
    "feature_names",
    "onehot_shape",
    "owners_shape",
    "pair_names",
    "pooled_shape",
    "semantic_shape",
    "state_names",
]
