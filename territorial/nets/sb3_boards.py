"""Stable-Baselines3 policies on packed boards, which they decode themselves."""

from __future__ import annotations

import math
from typing import Any

try:
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
except ImportError as error:
    raise ImportError('BoardExtractor needs Stable-Baselines3: pip install "territorial-env[sb3]"') from error

from torch import Tensor, nn

from territorial.config import GameConfig
from territorial.decode.boards import pooled_shape
from territorial.decode.features import feature_names
from territorial.decode.torch import Decoder
from territorial.envs.sb3 import MaskableVecEnv
from territorial.observation.layout import ObsLayout


class BoardExtractor(BaseFeaturesExtractor):
    """A features extractor for observations of the form "packed": pooled planes and features, two layers.

    Args:
        observation_space: of one agent.
        layout: of the observations.
        config: of the games.
        features_dim: what comes out, float32 (N, features_dim).
        pool_factor: cells a side of the squares in which boards are summed up.

    """

    def __init__(
        self,
        observation_space: Any,
        layout: ObsLayout,
        config: GameConfig,
        features_dim: int = 128,
        pool_factor: int = 8,
    ) -> None:
        super().__init__(observation_space, features_dim)
        self.decoder = Decoder(layout, config)
        self.pool_factor = pool_factor
        size = math.prod(pooled_shape(layout, pool_factor)) + len(feature_names(config))
        self.layers = nn.Sequential(
            nn.Linear(size, features_dim), nn.Tanh(), nn.Linear(features_dim, features_dim), nn.Tanh()
        )

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return float32 (N, features_dim) of N observations, each with a board of its own."""
        # SB3 hands on all numbers as float32, which holds bytes and seats exactly.
        planes = observations["observation"].to(torch.uint8)
        seats = observations["seat"][:, 0].long()
        players, borders = observations["players"], observations["borders"]
        with torch.no_grad():
            boards = self.decoder.pooled(planes, seats, players, borders, factor=self.pool_factor)
            features = self.decoder.features(players, borders, observations["globals"], seats)
        return self.layers(torch.cat([boards.flatten(1), features], dim=1))


def board_policy(env: MaskableVecEnv, features_dim: int = 128, pool_factor: int = 8) -> dict[str, Any]:
    """Return the ``policy_kwargs`` with which "MultiInputPolicy" decodes the boards of ``env``.

    ValueError unless its observations are of the form "packed".
    """
    if env.vec.options.obs != "packed":
        raise ValueError(f'obs is {env.vec.options.obs!r}; boards are decoded from obs="packed" only')
    about = {"layout": env.vec.game.layout, "config": env.vec.config}
    return {
        "features_extractor_class": BoardExtractor,
        "features_extractor_kwargs": about | {"features_dim": features_dim, "pool_factor": pool_factor},
        "normalize_images": False,  # bytes of bits are no brightness
    }
