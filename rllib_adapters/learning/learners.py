"""RLlib's learners, for modules that do not always get rows, and for batches whose rows share frames."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate, GeneralAdvantageEstimation
from ray.rllib.core.columns import Columns
from torch import distributed

from rllib_adapters import ray_private
from rllib_adapters.learning.advantages import Advantages
from rllib_adapters.learning.averages import WeightAverages
from rllib_adapters.learning.bf16_learning import learn_in_bf16
from rllib_adapters.learning.bootstrap_rows import BootstrapRows
from rllib_adapters.learning.drawn_rows import ROW_WEIGHTS, DrawnRows
from rllib_adapters.learning.episode_ends import EpisodeEnds
from rllib_adapters.learning.held_rows import WithoutHeldRows
from rllib_adapters.learning.likelihoods import heads_of
from rllib_adapters.learning.optimizers import FusedAdam
from rllib_adapters.learning.weighted_loss import weighted_loss
from rllib_adapters.learning.whole_states import WholeStates
from rllib_adapters.observations.connector import ModuleFrames
from territorial.memory.measure import give_back


class OwnUpdates(WeightAverages, FusedAdam):
    """What the learners of both algorithms have of ``TerritorialConfig.learning``."""

    def build(self) -> None:
        """Let modules learn in bfloat16 if asked to; called by RLlib."""
        super().build()
        if self.config.learning_options.bf16:
            for name, module in self.module.items():
                if self.should_module_be_updated(name):
                    learn_in_bf16(name, module.unwrapped())


class TerritorialPPOLearner(OwnUpdates, PPOTorchLearner):
    """PPO where a learner of several may get no rows of a module, as when it did not play.

    The gradients of a module are the mean over the learners that have rows of it. RLlib's own hooks
    for gradients would wait for the others without end.
    """

    def build(self) -> None:
        """As RLlib's, with the ends of episodes marked rightly in every release, and own connectors."""
        super().build()
        pipeline = ray_private.learner_connector(self)
        if pipeline is not None and self.config.add_default_connectors_to_learner_pipeline:
            pipeline.insert_before(AddOneTsToEpisodesAndTruncate, BootstrapRows())
            pipeline.remove(AddOneTsToEpisodesAndTruncate)
            pipeline.insert_before(GeneralAdvantageEstimation, EpisodeEnds())
            pipeline.insert_before(GeneralAdvantageEstimation, self._advantages())
            pipeline.remove(GeneralAdvantageEstimation)
            if not self.config.learning_options.held_rows:
                pipeline.append(self._without_held_rows())
            if self._share < 1:
                pipeline.append(self._drawn_rows())

    @property
    def _share(self) -> float:
        return float(self.config.learning_options.share)

    def _advantages(self) -> Advantages:
        """Return the connector that computes advantages."""
        config = self.config
        takes = config.learning_options.sampled_values
        return Advantages(
            gamma=config.gamma,
            lambda_=config.lambda_,
            weights=(lambda: ray_private.updates_of(self) - 1) if takes else None,
            held_rows=config.learning_options.held_rows,
        )

    def _drawn_rows(self) -> DrawnRows:
        """Return the connector that draws rows: others for every seed, learner and update."""
        self._check_is_no_sequence("share", self._share, 1)
        seed: Any = self.config.seed
        seed = np.random.SeedSequence().entropy if seed is None else seed
        rank = distributed.get_rank() if distributed.is_initialized() else 0
        return DrawnRows(self._share, lambda: [abs(int(seed)), rank, ray_private.updates_of(self)])

    def _without_held_rows(self) -> WithoutHeldRows:
        """Return the connector that leaves out rows in which an agent could only hold."""
        self._check_is_no_sequence("held_rows", False, True)
        return WithoutHeldRows()

    def _check_is_no_sequence(self, option: str, value: Any, wanted: Any) -> None:
        """Raise ValueError if a module needs all rows, in their order."""
        recurrent = [name for name, module in self.module.items() if module.unwrapped().is_stateful()]
        if recurrent:
            raise ValueError(
                f"{option} is {value}, but the module {recurrent[0]!r} is recurrent: it learns from rows "
                f"in a sequence; use config.learning({option}={wanted})"
            )

    def update(self, *args: Any, num_total_minibatches: int = 0, **kwargs: Any) -> Any:
        """Return what an update gave; RLlib tells several learners how many minibatches all rows make."""
        count = math.ceil(num_total_minibatches * self._share)
        found = super().update(*args, num_total_minibatches=count, **kwargs)
        give_back()
        return found

    def compute_loss_for_module(self, *, batch: Any, **kwargs: Any) -> Any:
        """Return the loss of a module's minibatch; called by RLlib."""
        module_id, outputs = kwargs["module_id"], kwargs["fwd_out"]
        heads = heads_of(self.module[module_id].unwrapped(), outputs[Columns.ACTION_DIST_INPUTS])
        if ROW_WEIGHTS in batch or heads is not None:
            return weighted_loss(self, module_id, kwargs["config"], batch, outputs)
        return super().compute_loss_for_module(batch=batch, **kwargs)

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


class TerritorialIMPALALearner(WholeStates, OwnUpdates, IMPALATorchLearner):
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
        share = config.learning_options.share
        if share < 1:
            raise ValueError(f"share is {share}; it must be 1, as IMPALA learns from rows in a sequence")
        if not config.learning_options.held_rows:
            raise ValueError("held_rows is False; it must be True, as IMPALA learns from rows in a sequence")
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
