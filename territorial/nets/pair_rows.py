"""A network on pairs that plays frozen seats: it reads rows by name, and draws actions in either format."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from territorial.constants import NUM_FRACTIONS
from territorial.nets.pair_policy import PairPolicy
from territorial.nets.policy import drawn_at


class PairRows(PairPolicy):
    """A ``PairPolicy`` with the methods by which ``FrozenPolicies`` calls any network.

    Args:
        size: that of the policy.
        teams: whether it is one for games with teams.
        has_two_parts: True: actions are those of the format "pairs_multi_discrete"; False: of "pairs".

    """

    def __init__(self, size: str = "standard", *, teams: bool = False, has_two_parts: bool = False) -> None:
        super().__init__(size, teams=teams)
        self.has_two_parts = has_two_parts

    def forward(  # type: ignore[override]  # ``FrozenPolicies`` hands rows over by name
        self, seen: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return the masked logits and the values of rows with ``own``, ``pairs`` and ``action_mask``."""
        mask = flat_mask(seen["action_mask"], seen["pairs"].shape[1])
        return super().forward(seen["own"], seen["pairs"], mask)

    def draw(self, logits: Tensor, numbers: Tensor | None = None) -> Tensor:
        """Return an action drawn for every row of ``logits``, int64 (N,) or (N, 2).

        ``numbers``: float64 (N, 2) from 0 to below 1, of which the first decide; None: PyTorch draws.
        """
        parts = self.probabilities(logits)
        drawn = torch.multinomial(parts, 1) if numbers is None else drawn_at(parts, numbers[:, :1])
        return in_two_parts(drawn[:, 0]) if self.has_two_parts else drawn[:, 0]

    @staticmethod
    def probabilities(logits: Tensor) -> Tensor:
        """Return float32 (N, 1 + 10 C): those that ``draw`` draws actions of one number with."""
        return logits.softmax(1)


def flat_mask(mask: Tensor, num_candidates: int) -> Tensor:
    """Return the mask (N, 1 + 10 C) of actions of one number; ``mask`` may be that of two parts."""
    if mask.shape[1] == 1 + NUM_FRACTIONS * num_candidates:
        return mask
    launches = mask[:, 1 : 1 + num_candidates].repeat_interleave(NUM_FRACTIONS, dim=1)
    return torch.cat([mask[:, :1], launches], dim=1)


def in_two_parts(actions: Tensor) -> Tensor:
    """Return actions of one number, (N,), as int64 (N, 2): ``territorial.actions.encoding.unflatten``."""
    launches = (actions - 1).clamp(min=0)
    candidate = launches.div(NUM_FRACTIONS, rounding_mode="floor") + (actions > 0)
    return torch.stack([candidate, launches % NUM_FRACTIONS], dim=-1)


def in_one_part(actions: Tensor) -> Tensor:
    """Return actions of two parts, (N, 2), as int64 (N,)."""
    candidate, fraction = actions[..., 0], actions[..., 1]
    return torch.where(candidate == 0, 0, 1 + NUM_FRACTIONS * (candidate - 1) + fraction)
