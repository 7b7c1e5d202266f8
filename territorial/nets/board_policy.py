"""A policy over packed observations: decoding, a trunk of one's own, and heads for actions and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from territorial.actions import num_targets
from territorial.config import GameConfig
from territorial.constants import HOLD, NUM_FRACTIONS
from territorial.decode.torch import Decoder
from territorial.obs_layout import ObsLayout

FORMS = ("owners", "onehot", "semantic", "pooled", "features")
"""What a trunk may ask boards to be decoded to: methods of ``decode.torch.Decoder``; "features": nothing."""

MASKED = -1e9
"""The logit of what is not legal: finite, so that entropies and divergences stay numbers."""

MakeTrunk = Callable[..., nn.Module]
"""``make(layout, config, **settings)`` returns a trunk."""


class BoardPolicy(nn.Module):
    """From what seats see to masked logits and values; the boards are decoded within.

    The trunk is a module with two attributes, ``form``, one of ``FORMS``, and ``embedding_size``, D. It is
    called with the boards in that form (see ``decode.torch.Decoder``; factor 8 for "pooled"; None for
    "features") and the features, float32 (N, features), and returns float32 (N, D).

    Args:
        layout: of the observations.
        config: of the games.
        trunk: the network between decoder and heads.
        hold_probability: how likely the policy holds before it has learned anything, between 0 and 1,
            where there is something else to do. Launching is taxed and interest is small, so that a policy
            that launches at every decision never grows.

    Observations are mappings from names to tensors. Of all rows: ``seat``, whole numbers (N, 1), and
    ``action_mask`` (N, P + 12). Of all games: ``observations`` uint8 (E, F, B, H, ceil(W/8)), ``players``
    (E, P, C), ``borders`` (E, K, P + 1, P + 1), ``globals`` (E, G). If rows share games, ``frame`` (N, 1)
    says which of the E is whose; else E is N.

    """

    def __init__(
        self, layout: ObsLayout, config: GameConfig, trunk: nn.Module, *, hold_probability: float = 0.9
    ) -> None:
        super().__init__()
        form, size = getattr(trunk, "form", None), getattr(trunk, "embedding_size", None)
        if form not in FORMS or not isinstance(size, int):
            raise ValueError(
                f"the trunk {type(trunk).__name__} has form {form!r} and embedding_size {size!r}; they must "
                f"be one of {', '.join(FORMS)}, and a whole number"
            )
        if not 0 < hold_probability < 1:
            raise ValueError(f"hold_probability is {hold_probability!r}; it must lie between 0 and 1")
        self.layout, self.config = layout, config
        self.decoder = Decoder(layout, config)
        self.trunk = trunk
        self.num_targets = num_targets(layout.num_players)
        self.policy_head = nn.Linear(size, self.num_targets + NUM_FRACTIONS)
        self.value_head = nn.Linear(size, 1)
        with torch.no_grad():  # all choices begin nearly equal, but for holding
            self.policy_head.weight.mul_(0.01)
            self.policy_head.bias.zero_()
            self.policy_head.bias[HOLD] = math.log(hold_probability / (1 - hold_probability))

    def embed(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return float32 (N, D): what the trunk makes of each row."""
        seats = seen["seat"].flatten()
        games = seen["frame"].flatten() if "frame" in seen else None
        boards = self._boards(seen, seats, games)
        tables = seen["players"], seen["borders"], seen["globals"]
        return self.trunk(boards, self.decoder.features(*tables, seats, games))

    def _boards(self, seen: Mapping[str, Tensor], seats: Tensor, games: Tensor | None) -> Tensor | None:
        if self.trunk.form == "features":
            return None
        decode = getattr(self.decoder, self.trunk.form)
        if self.trunk.form in ("owners", "onehot"):
            return decode(seen["observations"], seats, games)
        return decode(seen["observations"], seats, seen["players"], seen["borders"], games)

    def logits(self, embedding: Tensor, action_mask: Tensor) -> Tensor:
        """Return float32 (N, P + 12): one for each target, then one for each fraction.

        That of holding is raised by the logarithm of how many launches are legal, so that how likely
        it is at the start does not depend on how many neighbours a seat has.
        """
        raw = self.policy_head(embedding).float()
        legal = action_mask > 0
        launches = legal[:, HOLD + 1 : self.num_targets].sum(1).clamp(min=1)
        shift = torch.zeros_like(raw)
        shift[:, HOLD] = launches.log()
        return torch.where(legal, raw + shift, MASKED)

    def values(self, embedding: Tensor) -> Tensor:
        """Return float32 (N,): what each row's seat can expect."""
        return self.value_head(embedding).float().squeeze(-1)

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits and the embedding of every row."""
        embedding = self.embed(seen)
        return self.logits(embedding, seen["action_mask"]), embedding

    def draw(self, logits: Tensor) -> Tensor:
        """Return int64 (N, 2): an action drawn for every row of ``logits``."""
        parts = logits.split([self.num_targets, NUM_FRACTIONS], dim=1)
        return torch.cat([torch.multinomial(part.softmax(1), 1) for part in parts], dim=1)
