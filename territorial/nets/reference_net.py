"""The reference trunk: a convolutional network of about five million parameters over maps of owners."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from territorial.config import GameConfig
from territorial.decode.features import feature_names
from territorial.nets.owner_conv import OwnerConv2d
from territorial.observation.layout import ObsLayout


class ReferenceTrunk(nn.Module):
    """Four convolutions over the owners of cells, beside two layers over the numbers.

    With 32 players, 4 frames and 256 x 256 cells a ``BoardPolicy`` with it has 4.9 million parameters and
    takes some 112 million floating-point operations a board, multiplications and additions counted apart.
    104 are in convolutions and linear layers, 8 in adding up what ``OwnerConv2d`` looks up.

    Args:
        layout: of the observations.
        config: of the games.

    """

    form = "owners"
    embedding_size = 512

    def __init__(self, layout: ObsLayout, config: GameConfig) -> None:
        super().__init__()
        num_features = len(feature_names(config))
        self.boards = nn.Sequential(
            OwnerConv2d(layout, 32, kernel_size=4, stride=4),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(64, 128, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(128, 128, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(8),
            nn.Flatten(),
            nn.Linear(128 * 8 * 8, 448),
            nn.ReLU(),
        )
        self.numbers = nn.Sequential(nn.Linear(num_features, 448), nn.ReLU())
        self.both = nn.Sequential(nn.Linear(2 * 448, self.embedding_size), nn.ReLU())

    def forward(self, owners: Tensor, features: Tensor) -> Tensor:
        """Return float32 (N, 512) of owners, uint8 (N, F, H, W), and features, float32 (N, features)."""
        return self.both(torch.cat([self.boards(owners), self.numbers(features)], dim=1))
