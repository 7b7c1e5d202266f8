"""``BoardPolicy``: a policy with one board per row, and its trunks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from territorial.config import GameConfig
from territorial.config.validation import is_whole_number
from territorial.constants import HOLD, NUM_FRACTIONS
from territorial.decode import boards
from territorial.decode.features import feature_names
from territorial.nets.owner_conv import OwnerConv2d
from territorial.nets.policy import Policy
from territorial.observation.layout import ObsLayout

DECODINGS: Mapping[str, Callable[[ObsLayout], Sequence[int]]] = {
    "owners": boards.owners_shape,
    "onehot": boards.onehot_shape,
    "semantic": boards.semantic_shape,
    "pooled": partial(boards.pooled_shape, factor=8),
    "features": lambda layout: (0,),
}
"""The shapes of what a trunk may ask boards to be decoded to, by methods of ``decode.torch.Decoder``; with
"features" it is nothing."""

MakeTrunk = Callable[..., nn.Module]
"""``make(layout, config, **settings)`` returns a trunk."""


class BoardPolicy(Policy):
    """A policy in which every row looks at its own board, through a trunk.

    The trunk is a module with two attributes, ``decoding``, one of ``DECODINGS``, and ``embedding_size``, D.
    It is called with the boards so decoded (see ``decode.torch.Decoder``; factor 8 for "pooled"; None for
    "features") and the features, float32 (N, features), and returns float32 (N, D).

    Args:
        layout: of the observations.
        config: of the games.
        trunk: the network between decoder and heads.
        hold_probability: see ``Policy``, as for what observations are.

    """

    def __init__(
        self, layout: ObsLayout, config: GameConfig, trunk: nn.Module, *, hold_probability: float = 0.9
    ) -> None:
        super().__init__(layout, config, hold_probability=hold_probability)
        decoding, size = getattr(trunk, "decoding", None), getattr(trunk, "embedding_size", None)
        if decoding not in tuple(DECODINGS) or not is_whole_number(size, 1):
            raise ValueError(
                f"the trunk {type(trunk).__name__} has decoding {decoding!r} and embedding_size {size!r}; "
                f"they must be one of {', '.join(DECODINGS)}, and a whole number"
            )
        self.trunk = trunk
        self.policy_head = nn.Linear(size, self.num_targets + NUM_FRACTIONS)
        self.value_head = nn.Linear(size, 1)
        with torch.no_grad():  # all choices begin nearly equal, but for holding
            self.policy_head.weight.mul_(0.01)
            self.policy_head.bias.zero_()
            self.policy_head.bias[HOLD] = self.hold_logit

    @property
    def bytes_of_row(self) -> int:
        """Bytes of the board that the trunk reads for a row."""
        shape = DECODINGS[self.trunk.decoding](self.layout)
        return math.prod(shape) * (1 if self.trunk.decoding == "owners" else 4)

    def set_game(self, layout: ObsLayout, config: GameConfig) -> None:
        """Look at games of ``config`` from now on; ValueError unless ``layout`` is that of the network."""
        if layout != getattr(self, "layout", layout):
            raise ValueError(
                f"the network is made for {self.layout} and cannot read {layout}; a PairPolicy "
                "reads games of any size"
            )
        super().set_game(layout, config)

    def embed(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return float32 (N, D): what the trunk makes of each row."""
        seats = seen["seat"].flatten()
        games = seen["frame"].flatten() if "frame" in seen else None
        boards = self._boards(seen, seats, games)
        tables = seen["players"], seen["borders"], seen["globals"]
        return self.trunk(boards, self.decoder.features(*tables, seats, games))

    def _boards(self, seen: Mapping[str, Tensor], seats: Tensor, games: Tensor | None) -> Tensor | None:
        if self.trunk.decoding == "features":
            return None
        decode = getattr(self.decoder, self.trunk.decoding)
        if self.trunk.decoding in ("owners", "onehot"):
            return decode(seen["observations"], seats, games)
        return decode(seen["observations"], seats, seen["players"], seen["borders"], games)

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits, float32 (N, P + 12), and the embedding of every row."""
        embedding = self.embed(seen)
        return self.masked(self.policy_head(embedding), seen["action_mask"]), embedding


class FeatureTrunk(nn.Module):
    """Linear layers with tanh over the vector of features.

    Args:
        layout: of the observations, whose boards are not looked at.
        config: of the games.
        width: of every layer.
        depth: layers.

    """

    decoding = "features"

    def __init__(self, layout: ObsLayout, config: GameConfig, width: int = 256, depth: int = 2) -> None:
        super().__init__()
        self.embedding_size = width
        sizes = [len(feature_names(config)), *[width] * depth]
        layers = [part for low, high in pairwise(sizes) for part in (nn.Linear(low, high), nn.Tanh())]
        self.layers = nn.Sequential(*layers)

    def forward(self, boards: None, features: Tensor) -> Tensor:
        """Return float32 (N, width) of float32 (N, features)."""
        return self.layers(features)


class ReferenceTrunk(nn.Module):
    """Four convolutions over the owners of cells, beside two layers over the numbers.

    With 32 players, 4 frames and 256 x 256 cells a ``BoardPolicy`` with it has 4.9 million parameters and
    takes some 112 million floating-point operations a board, multiplications and additions counted apart.
    104 are in convolutions and linear layers, 8 in adding up what ``OwnerConv2d`` looks up.

    Args:
        layout: of the observations.
        config: of the games.

    """

    decoding = "owners"
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
