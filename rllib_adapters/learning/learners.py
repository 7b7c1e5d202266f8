"""RLlib's learners, for modules that do not always get rows, and for batches whose rows share frames."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from torch import distributed

from rllib_adapters import ray_private
from rllib_adapters.learning.episode_ends import EpisodeEnds
from rllib_adapters.observations.connector import ModuleFrames


class TerritorialPPOLearner(PPOTorchLearner):
    """PPO where a learner of several may get no rows of a module, as when it did not play.

    The gradients of a module are the mean over the learners that have rows of it. RLlib's own hooks
    for gradients would wait for the others without end.
    """

    def build(self) -> None:
        """As RLlib's, with the ends of episodes marked rightly in every release."""
        super().build()
        pipeline = ray_private.learner_connector(self)
        if pipeline is not None and self.config.add_default_connectors_to_learner_pipeline:
            pipeline.insert_before(GeneralAdvantageEstimation, EpisodeEnds())

    def _uncompiled_update(self, batch: Any, **kwargs: Any) -> Any:
        """Return what an update of a minibatch gave; overrides ``TorchLearner._uncompiled_update``."""
        if self.config.num_learners < 2:
            return super()._uncompiled_update(batch=batch, **kwargs)
        ray_private.log_off_policyness(self, batch)
        with contextlib.ExitStack() as stack:
            for module in self.module.values():
                if isinstance(module, torch.nn.Module):
                    stack.enter_context(module.no_sync())
            outputs = self.module.forward_train(batch)
            losses = self.compute_losses(fwd_out=outputs, batch=batch)
            self.compute_gradients(losses)
        parameters = ray_private.parameters_of(self)
        gradients = {name: _mean_gradient(parameter) for name, parameter in parameters.items()}
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


class TerritorialIMPALALearner(IMPALATorchLearner):
    """IMPALA with the frames of a batch: batches wait in queues, and their frames wait with them.

    A thread makes batches and another one learns from them; each hands its own frames to the modules, see
    ``ModuleFrames``. ValueError for aggregator actors, which would make batches in processes of their own,
    and for batches smaller than a sample, of which some of several learners would get none.
    """

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        actors = config.num_aggregator_actors_per_learner
        if actors:
            raise ValueError(
                f"num_aggregator_actors_per_learner is {actors}; it must be 0, because frames "
                "that rows share stay in the process that made the batch"
            )
        steps = config.get_rollout_fragment_length() * config.num_envs_per_env_runner
        size, learners = config.train_batch_size_per_learner, config.num_learners
        if learners > 1 and size < steps:
            raise ValueError(
                f"train_batch_size_per_learner is {size}; with {learners} learners it must be "
                f"at least {steps}. Each learner needs a whole sample, which has "
                "rollout_fragment_length times num_envs_per_env_runner steps"
            )
        super().__init__(config=config, **kwargs)

    def _make_batch_if_necessary(self, training_data: Any) -> Any:
        """Return a batch with its frames at hand; overrides ``TorchLearner._make_batch_if_necessary``."""
        waited = training_data.batch
        batch = super()._make_batch_if_necessary(training_data=training_data)
        modules = {name: module.unwrapped() for name, module in self.module.items()}
        if hasattr(waited, "frames"):
            for name, frames in waited.frames.items():
                modules[name].frames = frames
        elif batch is not None:
            batch.frames = {
                name: own.frames for name, own in modules.items() if isinstance(own, ModuleFrames)
            }
        return batch
