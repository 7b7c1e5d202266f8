"""``QPairModule``: the network on pairs with a value for each action, for DQN."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from ray.rllib.algorithms.dqn.dqn_learner import QF_NEXT_PREDS, QF_PREDS, QF_TARGET_NEXT_PREDS
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import QNetAPI
from ray.rllib.utils.schedules.scheduler import Scheduler
from torch import Tensor, nn

from rllib_adapters.modules.pairs import PairModule
from territorial.config.validation import finite_number
from territorial.league import Manifest
from territorial.nets.pair_policy import PairPolicy, epsilon_greedy, flat_mask


class QPairModule(QNetAPI, PairModule):
    """Learns what each action is worth, by ``PairPolicy.action_values``, and plays the best one.

    When it explores, it plays any legal action by chance, as often as DQN's ``epsilon`` says. Its snapshots
    are those of a ``PairModule`` that plays the best action: in the engine, too.

    The entries of ``model_config`` are those of a ``PairModule``, and:

    Args:
        epsilon: as in DQN's ``training(epsilon=...)``, which sets it.
        frozen_epsilon: how often its snapshots play any legal action, 0 to 1; default 0. With more than 0,
            they play in the pool and not in the engine.

    """

    temperature: ClassVar[int] = 0

    @classmethod
    def make_policy(cls, model_config: Mapping[str, Any]) -> PairPolicy:
        """Return a new network, to which holding is worth no more than other actions."""
        policy = super().make_policy(model_config)
        nn.init.zeros_(policy.hold.bias)
        return policy

    @classmethod
    def manifest(cls, model_config: Mapping[str, Any], **metadata: Any) -> Manifest:
        """Return the manifest of snapshots of a module with ``model_config``, which plays any games."""
        found = super().manifest(model_config, **metadata)
        return dataclasses.replace(found, settings={**found.settings, "epsilon": _frozen(model_config)})

    @classmethod
    def engine_network(
        cls, model_config: Mapping[str, Any], weights: Mapping[str, Any], env_config: Mapping[str, Any]
    ) -> list[bytes | memoryview] | str:
        """Return the pieces of the engine's file of a network, or the reason why it has none."""
        epsilon = _frozen(model_config)
        if epsilon:
            return f"its frozen_epsilon is {epsilon}; the engine plays only the best action, which is 0"
        return super().engine_network(model_config, weights, env_config)

    def setup(self) -> None:
        """Build the network; called by RLlib."""
        super().setup()
        _frozen(self.model_config)
        self._epsilon = Scheduler(self.model_config.get("epsilon", 0.0), framework="torch")

    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        """Return what each action is worth, float32 (N, 1 + 10 C); called by RLlib."""
        return {QF_PREDS: self._values(self.policy, batch[Columns.OBS])}

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        """Return the same by the copy of the network; called by RLlib."""
        with torch.no_grad():
            return {QF_PREDS: self._values(self.target_policy, batch[Columns.OBS])}

    def _values(self, policy: Any, seen: Mapping[str, Tensor]) -> Tensor:
        mask = flat_mask(seen["action_mask"], seen["pairs"].shape[1])
        values: Tensor = policy.action_values(seen["own"], seen["pairs"], mask)
        return values

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return what DQN's loss is computed of; overrides ``RLModule._forward``."""
        following = {Columns.OBS: batch[Columns.NEXT_OBS]}
        with torch.no_grad():  # they say which action is the best one, and nothing else
            best = self.compute_q_values(following)[QF_PREDS]
        return {
            **self.compute_q_values(batch),
            QF_NEXT_PREDS: best,
            QF_TARGET_NEXT_PREDS: self.forward_target(following)[QF_PREDS],
        }

    def _forward_exploration(self, batch: dict[str, Any], t: int = 0, **_: Any) -> dict[str, Any]:
        """Return actions at step ``t`` of all games; overrides ``RLModule._forward_exploration``."""
        self._epsilon.update(t)
        return self._act(batch, float(self._epsilon.get_current_value()))

    def _forward_inference(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the best actions; overrides ``RLModule._forward_inference``."""
        return self._act(batch, 0.0)

    def _act(self, batch: Mapping[str, Any], epsilon: float) -> dict[str, Any]:
        with torch.no_grad():
            logits, _ = self.read(self.policy, batch)
            return {Columns.ACTIONS: epsilon_greedy(logits, epsilon).multinomial(1)[:, 0]}


def _frozen(model_config: Mapping[str, Any]) -> float:
    return finite_number("frozen_epsilon", model_config.get("frozen_epsilon", 0.0), 0, 1)
