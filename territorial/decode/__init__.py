"""Decoding: from the tables that the engine writes once per game to what each agent sees of them."""

from territorial.decode.layout import feature_names, state_names
from territorial.decode.numpy import FeatureDecoder

__all__ = ["FeatureDecoder", "feature_names", "state_names"]
