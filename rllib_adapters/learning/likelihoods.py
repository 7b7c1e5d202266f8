"""How likely actions are by the logits of a module, and entropies: in one pass, with their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from territorial.nets.choice_kernels import weigh_choices, write_slopes


def heads_of(module: Any, logits: Tensor) -> Sequence[int] | None:
    """Return how many values the parts of an action have; None where RLlib's distributions must be asked.

    That is where a module has distributions of its own, and where no kernel reads the logits.
    """
    heads: Sequence[int] | None = getattr(module, "action_heads", None)
    is_one = module.get_train_action_dist_cls() is module.get_exploration_action_dist_cls()
    is_read = logits.device.type == "cpu" and logits.dtype == torch.float32 and logits.dim() == 2
    return heads if is_one and is_read else None


def likelihoods(logits: Tensor, actions: Tensor, heads: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the logarithms of how likely actions are, and the entropies of their distribution.

    Both are float32 (N,), and those of RLlib's ``TorchMultiCategorical``.

    Args:
        logits: float32 (N, K) on the processor, those of the parts one after the other.
        actions: whole numbers (N, H), or (N,) of one part.
        heads: how many values each part has.

    """
    logp, entropy, _ = _Likelihoods.apply(logits, actions.long().view(len(logits), -1), heads)
    return logp, entropy


class _Likelihoods(torch.autograd.Function):
    """``likelihoods``, and what is kept for the gradients: the chances."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, choices: Tensor, heads: Sequence[int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return logarithms, entropies and chances."""
        ctx.heads = np.array(heads, np.int64)
        chances, logp = torch.empty(logits.shape), torch.empty(len(logits))
        entropy = torch.empty_like(logp)
        given = logits.detach().contiguous().numpy(), ctx.heads, choices.contiguous().numpy()
        weigh_choices(*given, chances.numpy(), logp.numpy(), entropy.numpy())
        ctx.save_for_backward(choices, chances)
        ctx.mark_non_differentiable(chances)
        return logp, entropy, chances

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_logp: Tensor, of_entropy: Tensor, _: Any) -> tuple[Tensor, None, None]:
        """Return the gradients of the logits."""
        choices, chances = ctx.saved_tensors
        slopes = torch.empty(chances.shape)
        given = ctx.heads, choices.contiguous().numpy(), chances.numpy()
        write_slopes(*given, of_logp.contiguous().numpy(), of_entropy.contiguous().numpy(), slopes.numpy())
        return slopes, None, None
