"""RLlib learners: modules without rows, and rows that share frames.

In the loss of PPO each row counts by a weight of its own, and likelihoods are computed without distributions.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.appo.torch.appo_torch_learner import APPOTorchLearner
from ray.rllib.algorithms.dqn.torch.dqn_torch_learner import DQNTorchLearner
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.algorithms.ppo.ppo import (
    LEARNER_RESULTS_KL_KEY,
    LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY,
    LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY,
)
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate, GeneralAdvantageEstimation
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.learner import ENTROPY_KEY, POLICY_LOSS_KEY, VF_LOSS_KEY
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.torch_utils import explained_variance
from torch import Tensor, distributed

from rllib_adapters.league.learners import WholeStates
from rllib_adapters.learning.rows import (
    ROW_WEIGHTS,
    Advantages,
    BootstrapRows,
    DrawnRows,
    EpisodeEnds,
    WithoutHeldRows,
)
from rllib_adapters.observations.connector import ModuleFrames
from territorial._log import LOG
from territorial.memory.measure import give_back

# ---- losses --------------------------------------------------------------------------------------


def weighted_loss(
    learner: Any, module_id: str, config: Any, batch: Mapping[str, Any], outputs: Mapping[str, Tensor]
) -> Tensor:
    """Return the loss of a minibatch, and log its parts; without weights it is RLlib's."""
    mean = _mean(batch)
    module = learner.module[module_id].unwrapped()
    logits, actions, heads = outputs[Columns.ACTION_DIST_INPUTS], batch[Columns.ACTIONS], heads_of(module)
    if heads is None:
        policy = module.get_train_action_dist_cls().from_logits(logits)
        logp, entropy = policy.logp(actions), policy.entropy()
    else:
        logp, entropy = likelihoods(logits, actions, heads)
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
        now = module.get_train_action_dist_cls().from_logits(logits)
        then = module.get_exploration_action_dist_cls().from_logits(batch[Columns.ACTION_DIST_INPUTS])
        divergence = mean(then.kl(now))
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


def _explained(targets: Tensor, values: Tensor, weights: Tensor | None) -> Tensor:
    """Return which part of the variance of the targets the values explain, -1 at least."""
    if weights is None:
        return explained_variance(targets, values)
    left, whole = _variance(targets - values, weights), _variance(targets, weights)
    return (1 - left / (whole + 1e-6)).clamp(min=-1)  # RLlib's number against division by 0


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


class LearnerSetup(TorchLearner):
    """The part of a learner that is set up otherwise than RLlib's; it comes before RLlib's learner."""

    def build(self) -> None:
        """Let modules learn in bfloat16 if asked to; called by RLlib."""
        super().build()
        if self.config.learning_options.bf16:
            for name, module in self.module.items():
                if self.should_module_be_updated(name):
                    learn_in_bf16(name, module.unwrapped())

    def set_state(self, state: Any) -> None:
        """Go on from a state, with the moments in it; called by RLlib."""
        super().set_state(state)
        names = self.module.keys()
        for name in names:
            for _, optimizer in self.get_optimizers_for_module(name):
                keep_moments(optimizer)


def keep_moments(optimizer: torch.optim.Optimizer) -> None:
    """Give the moments that were loaded to their weights, and settings their types.

    Ray 2.55.1 makes tensors of the numbers in a state, so that PyTorch finds no weights by them.
    """
    for group in optimizer.param_groups:
        group |= {name: value for name, value in optimizer.defaults.items() if name != "lr"}
        group["lr"] = float(group["lr"])
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    for key in [key for key in optimizer.state if isinstance(key, int)]:
        optimizer.state[parameters[key]] = optimizer.state.pop(key)


# ---- bfloat16 --------------------------------------------------------------------------------------------


def learn_in_bf16(name: str, module: Any) -> None:
    """Let a module learn in bfloat16, or say in the log why it does not."""
    if not hasattr(module, "learns_in_bf16"):
        LOG.warning(
            "the module %r learns in float32: bf16 needs a BoardModule or a PairModule, and it is a %s",
            name,
            type(module).__name__,
        )
        return
    device = next(module.parameters()).device
    module.learns_in_bf16 = computes_bf16(device)
    if not module.learns_in_bf16:
        LOG.warning("the module %r learns in float32: %s does not compute in bfloat16", name, device)


def computes_bf16(device: torch.device) -> bool:
    """Return whether a device has instructions for bfloat16; without, it takes longer than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return any(has for name, has in torch.cpu.get_capabilities().items() if "bf16" in name)
    return False


# ---- learners --------------------------------------------------------------------------------------------


class TerritorialPPOLearner(LearnerSetup, PPOTorchLearner):
    """PPO where a learner of several may get no rows of a module, as when it did not play.

    The gradients of a module are the mean over the learners that have rows of it. RLlib's own hooks
    for gradients would wait for the others without end.
    """

    def build(self) -> None:
        """As RLlib's, with the ends of episodes marked rightly in every release, and own connectors."""
        super().build()
        config, options = self.config, self.config.learning_options
        pipeline = self._learner_connector
        if pipeline is None or not config.add_default_connectors_to_learner_pipeline:
            return
        for option, value, wanted in (("share", options.share, 1), ("held_rows", options.held_rows, True)):
            recurrent = [name for name, module in self.module.items() if module.unwrapped().is_stateful()]
            if value != wanted and recurrent:
                raise ValueError(
                    f"{option} is {value}, but the module {recurrent[0]!r} is recurrent: it learns from rows "
                    f"in a sequence; use config.learning({option}={wanted})"
                )
        advantages = Advantages(
            gamma=config.gamma,
            lambda_=config.lambda_,
            weights=(lambda: self._weights_seq_no - 1) if options.sampled_values else None,
            held_rows=options.held_rows,
        )
        pipeline.insert_before(AddOneTsToEpisodesAndTruncate, BootstrapRows())
        pipeline.remove(AddOneTsToEpisodesAndTruncate)
        pipeline.insert_before(GeneralAdvantageEstimation, EpisodeEnds())
        pipeline.insert_before(GeneralAdvantageEstimation, advantages)
        pipeline.remove(GeneralAdvantageEstimation)
        if not options.held_rows:
            pipeline.append(WithoutHeldRows())
        if options.share < 1:  # others for every seed, learner and update
            seed = np.random.SeedSequence().entropy if config.seed is None else abs(int(config.seed))
            rank = distributed.get_rank() if distributed.is_initialized() else 0
            pipeline.append(DrawnRows(options.share, lambda: [seed, rank, self._weights_seq_no]))

    def update(self, *args: Any, num_total_minibatches: int = 0, **kwargs: Any) -> Any:
        """Return what an update gave; RLlib tells several learners how many minibatches all rows make."""
        count = math.ceil(num_total_minibatches * self.config.learning_options.share)
        found = super().update(*args, num_total_minibatches=count, **kwargs)
        give_back()
        return found

    def compute_loss_for_module(self, *, batch: Any, **kwargs: Any) -> Any:
        """Return the loss of a module's minibatch; called by RLlib."""
        module_id, outputs = kwargs["module_id"], kwargs["fwd_out"]
        if ROW_WEIGHTS in batch or heads_of(self.module[module_id].unwrapped()) is not None:
            return weighted_loss(self, module_id, kwargs["config"], batch, outputs)
        return super().compute_loss_for_module(batch=batch, **kwargs)

    def _uncompiled_update(self, batch: Any, **kwargs: Any) -> Any:
        """Return what an update of a minibatch gave; overrides ``TorchLearner._uncompiled_update``."""
        if self.config.num_learners < 2:
            return super()._uncompiled_update(batch=batch, **kwargs)
        self._compute_off_policyness(batch)
        with contextlib.ExitStack() as stack:
            for module in self.module.values():
                if isinstance(module, torch.nn.Module):
                    stack.enter_context(module.no_sync())
            outputs = self.module.forward_train(batch)
            losses = self.compute_losses(fwd_out=outputs, batch=batch)
            self.compute_gradients(losses)
        gradients = {name: _mean_gradient(parameter) for name, parameter in self._params.items()}
        self.apply_gradients(self.postprocess_gradients(gradients))
        return outputs, losses, {}


def _mean_gradient(parameter: Any) -> torch.Tensor:
    """Return, and set, the mean of a parameter's gradients over the learners that have one."""
    has_one = parameter.grad is not None
    gradient = parameter.grad if has_one else torch.zeros_like(parameter)
    both = torch.cat([gradient.flatten(), gradient.new_tensor([float(has_one)])])
    distributed.all_reduce(both)
    parameter.grad = (both[:-1] / both[-1].clamp(min=1)).view_as(parameter)
    return parameter.grad


class TerritorialIMPALALearner(WholeStates, LearnerSetup, IMPALATorchLearner):
    """IMPALA with the frames of a batch: batches wait in queues, and their frames wait with them.

    A thread makes batches and another one learns from them; each hands its own frames to the modules, see
    ``ModuleFrames``.
    """

    def _make_batch_if_necessary(self, training_data: Any) -> Any:
        """Return a batch with its frames at hand; overrides ``TorchLearner._make_batch_if_necessary``."""
        waited = training_data.batch
        batch = super()._make_batch_if_necessary(training_data=training_data)
        modules = {name: module.unwrapped() for name, module in self.module.items()}
        if hasattr(waited, "frames"):
            for name, frames in waited.frames.items():
                modules[name].frames = frames
            self._restores_at_batch = waited.restores
        elif batch is not None:
            batch.restores = self.restores
            batch.frames = {
                name: own.frames for name, own in modules.items() if isinstance(own, ModuleFrames)
            }
        return batch


class TerritorialAPPOLearner(TerritorialIMPALALearner, APPOTorchLearner):
    """APPO with the frames of a batch, which wait in the buffer with it, as in ``TerritorialIMPALALearner``.

    A batch may be learned from several times, with others in between: modules get its frames each time.
    """


class TerritorialDQNLearner(LearnerSetup, DQNTorchLearner):
    """DQN's learner; its rows come from a ``ReplayBuffer`` and through no connector."""
