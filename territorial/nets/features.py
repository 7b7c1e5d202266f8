"""A trunk that looks at features alone: for small machines, and to find out what boards are worth."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from territorial.config import GameConfig
from territorial.decode.features import feature_names
from territorial.observation.layout import ObsLayout


class FeatureTrunk(nn.Module):
    """Linear layers with tanh over the vector of features.

    Args:
        layout: of the observations, whose boards are not looked at.
        config: of the games.
        width: of every layer.
        depth: layers.

    """

    form = "features"

    def __init__(self, layout: ObsLayout, config: GameConfig, width: int = 256, depth: int = 2) -> None:
        super().__init__()
        self.embedding_size = width
        sizes = [len(feature_names(config)), *[width] * depth]
        layers = [part for low, high in pairwise(sizes) for part in (nn.Linear(low, high), nn.Tanh())]
        self.layers = nn.Sequential(*layers)

    def forward(self, boards: None, features: Tensor) -> Tensor:
        """Return float32 (N, width) of float32 (N, features)."""
        return self.layers(features)
