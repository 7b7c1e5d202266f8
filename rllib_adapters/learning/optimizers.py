"""Adam in one pass over all weights, and one look at all gradients for numbers that are not finite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from torch import Tensor

from rllib_adapters import ray_private

FUSED_ON = ("cpu", "cuda")


class FusedAdam(TorchLearner):
    """The part of a learner that makes optimizers and lets them step; it comes before RLlib's learner.

    Updates are those of RLlib's but for the rounding of Adam. RLlib looks at every gradient by itself, twice,
    for numbers that are not finite. Here the norm of all of them says so at once. If any is not, or with
    gradient scalers and PyTorch's own schedules, RLlib's own way is gone.
    """

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register a module's optimizer; called by RLlib."""
        parameters = self.get_parameters(self.module[module_id])
        if not can_be_fused(parameters):
            super().configure_optimizers_for_module(module_id, config)
            return
        self.register_optimizer(
            module_id=module_id,
            optimizer=torch.optim.Adam(parameters, fused=True),
            params=parameters,
            lr_or_lr_schedule=config.lr,
        )

    def apply_gradients(self, gradients_dict: Mapping[Any, Tensor]) -> None:
        """Update all weights; called by RLlib."""
        if ray_private.has_own_steps(self.config) or not self._are_fine(gradients_dict.values()):
            super().apply_gradients(gradients_dict)
            return
        parameters = ray_private.parameters_of(self)
        for name, gradient in gradients_dict.items():
            parameters[name].grad = gradient
        for optimizer in optimizers_of(self):
            optimizer.step()

    def _are_fine(self, gradients: Iterable[Tensor]) -> bool:
        """Return whether RLlib would let the optimizers step; False for sums too large for float32, too."""
        if self.config.torch_skip_nan_gradients:
            return True
        return bool(torch.nn.utils.get_total_norm(gradients).isfinite())

    def set_state(self, state: Any) -> None:
        """Go on from a state, whichever Adam wrote it; called by RLlib."""
        super().set_state(state)
        for optimizer in optimizers_of(self):
            if optimizer.defaults.get("fused"):
                _keep_fused(optimizer)


def can_be_fused(parameters: Iterable[Tensor]) -> bool:
    """Return whether PyTorch has a fused Adam for all of these weights."""
    return all(one.dtype == torch.float32 and one.device.type in FUSED_ON for one in parameters)


def optimizers_of(learner: Any) -> list[torch.optim.Optimizer]:
    """Return the optimizers of all modules of a learner."""
    modules = learner.module.keys()
    return [one for name in modules for _, one in learner.get_optimizers_for_module(name)]


def _keep_fused(optimizer: torch.optim.Optimizer) -> None:
    """Let an optimizer that has loaded a state be as it was made: states have the settings of theirs.

    Ray 2.55.1 does not find the weights that moments belong to, which are numbered in states.
    """
    for group in optimizer.param_groups:
        group |= {name: value for name, value in optimizer.defaults.items() if name != "lr"}
        group["lr"] = float(group["lr"])
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    for key, moments in list(optimizer.state.items()):
        parameter = parameters[key] if isinstance(key, int) else key
        step = torch.as_tensor(moments["step"], dtype=torch.float32, device=parameter.device)
        del optimizer.state[key]
        optimizer.state[parameter] = {**moments, "step": step}
