"""The loss of PPO where each row counts by a weight of its own, and likelihoods without distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from ray.rllib.algorithms.ppo.ppo import (
    LEARNER_RESULTS_KL_KEY,
    LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY,
    LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY,
)
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.learner import ENTROPY_KEY, POLICY_LOSS_KEY, VF_LOSS_KEY
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.torch_utils import explained_variance
from torch import Tensor

from rllib_adapters.learning.rows import ROW_WEIGHTS

NO_VARIANCE = 1e-6
"""RLlib's, against division by 0."""


def weighted_loss(
    learner: Any, module_id: str, config: Any, batch: Mapping[str, Any], outputs: Mapping[str, Tensor]
) -> Tensor:
    """Return the loss of a minibatch, and log its parts; without weights it is RLlib's."""
    mean = _mean(batch)
    module = learner.module[module_id].unwrapped()
    logp, entropy = _likelihoods(module, outputs[Columns.ACTION_DIST_INPUTS], batch[Columns.ACTIONS])
    ratio = torch.exp(logp - batch[Columns.ACTION_LOGP])
    advantages, clip = batch[Postprocessing.ADVANTAGES], config.clip_param
    surrogate = torch.min(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip))
    targets = batch[Postprocessing.VALUE_TARGETS]
    values, errors = torch.zeros_like(targets), torch.zeros_like(targets)
    if config.use_critic:
        values = module.compute_values(batch, embeddings=outputs.get(Columns.EMBEDDINGS))
        errors = (values - targets) ** 2
    clipped = errors.clamp(0, config.vf_clip_param)
    entropy_coeff = learner.entropy_coeff_schedulers_per_module[module_id].get_current_value()
    loss = mean(-surrogate + config.vf_loss_coeff * clipped - entropy_coeff * entropy)
    divergence = torch.zeros((), device=loss.device)
    if config.use_kl_loss:
        divergence = mean(_divergences(module, batch, outputs))
        loss = loss + learner.curr_kl_coeffs_per_module[module_id] * divergence
    with torch.no_grad():
        logged = {
            POLICY_LOSS_KEY: -mean(surrogate),
            VF_LOSS_KEY: mean(clipped),
            LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY: mean(errors),
            LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY: _explained(targets, values, batch.get(ROW_WEIGHTS)),
            ENTROPY_KEY: mean(entropy),
            LEARNER_RESULTS_KL_KEY: divergence.detach(),
        }
    learner.metrics.log_dict(logged, key=module_id, window=1)
    return loss


def _mean(batch: Mapping[str, Any]) -> Callable[[Tensor], Tensor]:
    """Return the mean over the rows that count, each by its weight if rows have any."""
    if ROW_WEIGHTS in batch:
        return lambda rows: (rows * batch[ROW_WEIGHTS]).mean()
    if Columns.LOSS_MASK not in batch:
        return torch.mean
    mask = batch[Columns.LOSS_MASK]
    count = mask.sum()
    return lambda rows: rows[mask].sum() / count  # what is masked need not be finite


def _likelihoods(module: Any, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Return the logarithms of how likely actions are, and the entropies of their distribution."""
    heads = heads_of(module)
    if heads is not None:
        return likelihoods(logits, actions, heads)
    now = module.get_train_action_dist_cls().from_logits(logits)
    return now.logp(actions), now.entropy()


def _divergences(module: Any, batch: Mapping[str, Any], outputs: Mapping[str, Tensor]) -> Tensor:
    """Return how far the policy has moved from what acted, row by row."""
    now = module.get_train_action_dist_cls().from_logits(outputs[Columns.ACTION_DIST_INPUTS])
    then = module.get_exploration_action_dist_cls().from_logits(batch[Columns.ACTION_DIST_INPUTS])
    moved: Tensor = then.kl(now)
    return moved


def _explained(targets: Tensor, values: Tensor, weights: Tensor | None) -> Tensor:
    """Return which part of the variance of the targets the values explain, -1 at least."""
    if weights is None:
        rllibs: Tensor = explained_variance(targets, values)
        return rllibs
    left, whole = _variance(targets - values, weights), _variance(targets, weights)
    return (1 - left / (whole + NO_VARIANCE)).clamp(min=-1)


def _variance(rows: Tensor, weights: Tensor) -> Tensor:
    mean = (weights * rows).sum() / weights.sum()
    return (weights * (rows - mean) ** 2).sum() / weights.sum()


# ---- likelihoods -----------------------------------------------------------------------------------------


def heads_of(module: Any) -> Sequence[int] | None:
    """Return how many values the parts of an action have; None where RLlib's distributions must be asked.

    That is where a module has distributions of its own.
    """
    heads: Sequence[int] | None = getattr(module, "action_heads", None)
    is_one = module.get_train_action_dist_cls() is module.get_exploration_action_dist_cls()
    return heads if is_one else None


def likelihoods(logits: Tensor, actions: Tensor, heads: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the logarithms of how likely actions are, and the entropies of their distribution.

    Both are (N,), and those of RLlib's ``TorchMultiCategorical``, which checks its arguments first.

    Args:
        logits: (N, K), those of the parts one after the other.
        actions: whole numbers (N, H), or (N,) of one part.
        heads: how many values each part has.

    """
    chosen = actions.long().view(len(logits), -1)
    logp = entropy = logits.new_zeros(len(logits))
    for i, part in enumerate(logits.split(list(heads), dim=1)):
        logs = part.log_softmax(1)
        logp = logp + logs.gather(1, chosen[:, i : i + 1])[:, 0]
        entropy = entropy - (logs.exp() * logs).sum(1)
    return logp, entropy
