"""``Policy``: the interface of networks that play, train and freeze."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from territorial.config import GameConfig
from territorial.constants import HOLD, NUM_FRACTIONS
from territorial.decode.recorded import is_recorded
from territorial.decode.torch import Decoder
from territorial.nets.choice_kernels import draw_choices
from territorial.observation.action_encoding import num_targets
from territorial.observation.layout import ObsLayout


def are_plain(*layers: nn.Module) -> bool:
    """Return whether each is a linear layer, and calling it does nothing else."""
    return not _has_any_global_hook() and all(
        type(layer) is nn.Linear and not _has_hooks(layer) for layer in layers
    )


def is_plain_mlp(layers: nn.Module) -> bool:
    """Return whether these are two linear layers with rectifiers between, and calling them is no more."""
    if type(layers) is not nn.Sequential or _has_hooks(layers) or len(layers) != 3:
        return False
    first, between, last = layers
    return are_plain(first, last) and type(between) is nn.ReLU and not _has_hooks(between)


def needs_torch() -> bool:
    """Return whether gradients, a record or other types are asked for, of which kernels know nothing."""
    return torch.is_grad_enabled() or is_recorded() or torch.is_autocast_enabled("cpu")


def is_readable(part: Tensor, dtype: torch.dtype) -> bool:
    """Return whether a kernel can read a tensor as numbers of ``dtype``."""
    return part.dtype is dtype and part.is_cpu and part.is_contiguous()


def _has_hooks(layer: nn.Module) -> bool:
    """Return whether a layer does something else when it is called, or when gradients go through it."""
    return bool(
        layer._forward_hooks
        or layer._forward_pre_hooks
        or layer._backward_hooks
        or layer._backward_pre_hooks
        or "forward" in layer.__dict__
    )


MASKED = -1e9
"""The logit of what is not legal: finite, so that entropies and divergences stay numbers."""


GAMES = frozenset({"observations", "players", "borders", "globals"})
"""The names of what observations have of games, and not of rows."""


class Policy(nn.Module):
    """Maps observations to masked logits and values; it decodes boards itself.

    Observations are mappings from names to tensors. Of all rows: ``seat``, whole numbers (N, 1), and
    ``action_mask`` (N, P + 12). Of all games: ``observations`` uint8 (E, F, B, H, ceil(W/8)), ``players``
    float32 (E, P, C), ``borders`` (E, K, P + 1, P + 1), ``globals`` (E, G). If rows share games, ``frame``
    (N, 1) says which of the E is whose; else E is N. If rows are of several networks, see ``SideBySide``,
    ``snapshot`` (N, 1) says which, in ascending numbers.

    Args:
        layout: of the observations.
        config: of the games.
        hold_probability: how likely the policy holds before it has learned anything, between 0 and 1,
            where there is something else to do. Launching is taxed and interest is small, so that a policy
            that launches at every decision never grows.

    """

    value_head: nn.Module

    def __init__(self, layout: ObsLayout, config: GameConfig, *, hold_probability: float = 0.9) -> None:
        super().__init__()
        if not 0 < hold_probability < 1:
            raise ValueError(f"hold_probability is {hold_probability!r}; it must lie between 0 and 1")
        self.hold_logit = math.log(hold_probability / (1 - hold_probability))
        """What the bias of holding begins with."""
        self.set_game(layout, config)

    def set_game(self, layout: ObsLayout, config: GameConfig) -> None:
        """Look at games of ``layout`` and ``config`` from now on."""
        self.layout, self.config = layout, config
        self.decoder = Decoder(layout, config)
        self.num_targets = num_targets(layout.num_players)

    @abstractmethod
    def embed(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return float32 (N, D): the embedding of each row, from which values are computed."""

    def values(self, embedding: Tensor) -> Tensor:
        """Return float32 (N,): the expected return of each row's seat."""
        return self.value_head(embedding).float().squeeze(-1)

    @abstractmethod
    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the masked logits, float32 (N, P + 12), and the embedding of every row."""

    def masked(self, raw: Tensor, action_mask: Tensor) -> Tensor:
        """Return ``raw`` logits, (N, P + 12), as float32, ``MASKED`` where nothing is legal.

        That of holding is raised by the logarithm of how many launches are legal, so that how likely
        it is at the start does not depend on how many neighbours a seat has.
        """
        is_legal = action_mask > 0
        launches = is_legal[:, HOLD + 1 : self.num_targets].sum(1).clamp(min=1)
        logits = torch.where(is_legal, raw.float(), MASKED)
        logits[:, HOLD] = logits[:, HOLD] + launches.log()  # which is nothing beside ``MASKED``
        return logits

    def draw(self, logits: Tensor, numbers: Tensor | None = None) -> Tensor:
        """Return int64 (N, 2): an action drawn for every row of ``logits``.

        ``numbers``: float64 (N, 2) from 0 to below 1, one for each part, from which the actions follow; None:
        PyTorch draws.
        """
        is_plain = is_readable(logits, torch.float32) and not needs_torch()
        if numbers is not None and is_plain and is_readable(numbers, torch.float64):
            heads = np.array([self.num_targets, NUM_FRACTIONS])
            choices, logps = np.empty((len(logits), len(heads)), np.int64), np.empty(len(logits), np.float32)
            draw_choices(logits.numpy(), heads, numbers.numpy(), np.empty(logits.shape[1]), choices, logps)
            return torch.from_numpy(choices)
        parts = self._split(self.probabilities(logits))
        if numbers is None:
            drawn = [torch.multinomial(part, 1) for part in parts]
        else:
            drawn = [drawn_at(part, numbers[:, i : i + 1]) for i, part in enumerate(parts)]
        return torch.cat(drawn, dim=1)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Return float32 (N, P + 12): the probabilities with which ``draw`` draws each part of an action."""
        return torch.cat([part.softmax(1) for part in self._split(logits)], dim=1)

    def _split(self, columns: Tensor) -> tuple[Tensor, ...]:
        """Return the columns of targets, (N, P + 2), and of fractions, (N, 10)."""
        return columns.split([self.num_targets, NUM_FRACTIONS], dim=1)

    def greedy(self, logits: Tensor) -> Tensor:
        """Return int64 (N, 2): the likeliest action of every row of ``logits``."""
        return torch.stack([part.argmax(1) for part in self._split(logits)], dim=1)


def drawn_at(weights: Tensor, numbers: Tensor) -> Tensor:
    """Return int64 (N, 1): where the sum of ``weights`` (N, K) so far exceeds the part ``numbers`` of all."""
    sums = weights.double().cumsum(1)
    return (sums <= numbers * sums[:, -1:]).sum(1, keepdim=True)
