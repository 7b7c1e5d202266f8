"""The loss of PPO where each row counts by a weight of its own."""

from __future__ import annotations

from collections.abc import Mapping
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
from torch import Tensor

from rllib_adapters.learning.drawn_rows import ROW_WEIGHTS

NO_VARIANCE = 1e-6
"""RLlib's, against division by 0."""


def weighted_loss(
    learner: Any, module_id: str, config: Any, batch: Mapping[str, Any], outputs: Mapping[str, Tensor]
) -> Tensor:
    """Return the loss of a minibatch, and log its parts; with weights of 1 it is RLlib's."""
    weights = batch[ROW_WEIGHTS]

    def mean(rows: Tensor) -> Tensor:
        return (rows * weights).mean()

    module = learner.module[module_id].unwrapped()
    now = module.get_train_action_dist_cls().from_logits(outputs[Columns.ACTION_DIST_INPUTS])
    then = module.get_exploration_action_dist_cls().from_logits(batch[Columns.ACTION_DIST_INPUTS])
    ratio = torch.exp(now.logp(batch[Columns.ACTIONS]) - batch[Columns.ACTION_LOGP])
    entropy = now.entropy()
    surrogate = _surrogate(batch[Postprocessing.ADVANTAGES], ratio, config.clip_param)
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
        divergence = mean(then.kl(now))
        loss = loss + learner.curr_kl_coeffs_per_module[module_id] * divergence
    logged = {
        POLICY_LOSS_KEY: -mean(surrogate),
        VF_LOSS_KEY: mean(clipped),
        LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY: mean(errors),
        LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY: _explained(targets, values.detach(), weights),
        ENTROPY_KEY: mean(entropy),
        LEARNER_RESULTS_KL_KEY: divergence,
    }
    learner.metrics.log_dict(logged, key=module_id, window=1)
    return loss


def _surrogate(advantages: Tensor, ratio: Tensor, clip: float) -> Tensor:
    return torch.min(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip))


def _explained(targets: Tensor, values: Tensor, weights: Tensor) -> Tensor:
    """Return which part of the variance of the targets the values explain, -1 at least."""
    left, whole = _variance(targets - values, weights), _variance(targets, weights)
    return (1 - left / (whole + NO_VARIANCE)).clamp(min=-1)


def _variance(rows: Tensor, weights: Tensor) -> Tensor:
    mean = (weights * rows).sum() / weights.sum()
    return (weights * (rows - mean) ** 2).sum() / weights.sum()
