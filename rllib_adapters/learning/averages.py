"""Averages of the weights of a learner's last updates: what is frozen, exported and evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
import torch
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

from rllib_adapters import ray_private
from rllib_adapters.learning.only_trained import is_trained
from rllib_adapters.learning.options import LearningOptions

AVERAGES = "averaged_weights"
"""The part of a learner's state that has them: by module the number of updates, and arrays by name."""
RL_MODULE = "rl_module"

Arrays = dict[str, npt.NDArray[Any]]


class WeightAverages(TorchLearner):
    """The part of a learner that keeps averages of weights; it comes before RLlib's learner.

    After each update an average is ``decay`` of itself, and for the rest the weights as they are. In the
    first updates it is less, ``(1 + n) / (10 + n)`` after n updates, so that the first weights are soon gone.
    Averages take as much memory as the weights, in every learner. When a module is given weights from
    outside, its averages are reset.
    """

    def build(self) -> None:
        """Build, without averages; called by RLlib."""
        self._averages: dict[str, _Average] = {}
        super().build()

    def apply_gradients(self, gradients_dict: Mapping[Any, Tensor]) -> None:
        """Update all weights, then their averages; called by RLlib."""
        super().apply_gradients(gradients_dict)
        decay = self.config.learning_options.averaged_weights
        if decay:
            updated = set(gradients_dict)
            for name, module in self.module.items():
                parameters = _parameters(module.unwrapped())
                if any(self.get_param_ref(one) in updated for one in parameters.values()):
                    self._averages.setdefault(name, _Average()).add(parameters, decay)

    def averaged(self, module_id: str) -> Arrays:
        """Return the weights of a module as its state has them, averages where there are any."""
        state: Arrays = dict(self.module[module_id].unwrapped().get_state())
        found = self._averages.get(module_id)
        return state if found is None else {**state, **found.arrays()}

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> Any:
        """Return the state of the learner, with the averages; called by RLlib."""
        state = super().get_state(components, not_components=not_components, **kwargs)
        if self._averages and ray_private.is_wanted(self, AVERAGES, components, not_components):
            state[AVERAGES] = {name: one.get_state() for name, one in self._averages.items()}
        return state

    def set_state(self, state: Any) -> None:
        """Go on from a state; averages are reset where it has weights alone; called by RLlib."""
        super().set_state(state)
        for name in state.get(RL_MODULE, {}):
            self._averages.pop(name, None)
        for name, kept in state.get(AVERAGES, {}).items():
            self._averages[name] = _Average.of(kept)


class _Average:
    """The averages of a module's weights, by name, after ``updates`` updates."""

    def __init__(self) -> None:
        self.updates = 0
        self._weights: dict[str, Tensor] = {}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> _Average:
        """Return the averages that ``get_state`` wrote."""
        average = cls()
        average.updates = int(state["updates"])
        average._weights = {name: torch.tensor(np.array(one)) for name, one in state["weights"].items()}
        return average

    def get_state(self) -> dict[str, Any]:
        """Return them as arrays."""
        return {"updates": self.updates, "weights": self.arrays()}

    def arrays(self) -> Arrays:
        """Return a copy of them."""
        return {name: one.cpu().numpy().copy() for name, one in self._weights.items()}

    def add(self, parameters: Mapping[str, Tensor], decay: float) -> None:
        """Take the weights of an update into account."""
        if not self._weights:
            self._weights = {name: one.detach().clone() for name, one in parameters.items()}
        decay = min(decay, (1 + self.updates) / (10 + self.updates))
        present = [one.detach() for one in parameters.values()]
        kept = [self._weights[name].to(one.device) for name, one in parameters.items()]
        get_ema_multi_avg_fn(decay)(kept, present, None)
        self._weights = dict(zip(parameters, kept, strict=True))
        self.updates += 1


def keeps_averages(config: Any) -> bool:
    """Return whether the learners of a configuration keep averages."""
    return getattr(config, "learning_options", LearningOptions()).averaged_weights > 0


def averaged_in(algorithm: Any, modules: Iterable[str]) -> dict[str, Arrays]:
    """Return the averaged weights of modules of an algorithm's learners, which all have the same."""
    names = list(modules)
    found = algorithm.learner_group.foreach_learner(
        lambda learner: {name: learner.averaged(name) for name in names}
    )
    first: dict[str, Arrays] = next(iter(found)).get()
    return first


def evaluate_averages(algorithm: Any) -> None:
    """Let the runners of an algorithm's evaluations play with averaged weights.

    What RLlib sends them before an evaluation are the present weights; the averages are sent after these.
    """
    group = algorithm.eval_env_runner_group
    send = group.sync_weights

    def send_averages(*args: Any, **kwargs: Any) -> None:
        send(*args, **kwargs)
        learned = [name for name in algorithm.config.policies if is_trained(algorithm.config, name)]
        shared = ray.put(averaged_in(algorithm, learned))
        group.foreach_env_runner(lambda runner: _play_with(runner, shared))

    group.sync_weights = send_averages


def _play_with(runner: Any, shared: Any) -> None:
    if runner.module is not None:
        for name, weights in ray.get(shared).items():
            runner.module[name].set_state(weights)


def _parameters(module: Any) -> dict[str, Tensor]:
    """Return the weights that a learner trains of a module, by the names of the module's state."""
    return dict(module.named_parameters()) if isinstance(module, torch.nn.Module) else {}
