"""``QPairModule``: the network on pairs with a value for each action, for DQN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from ray.rllib.algorithms.dqn.dqn_learner import QF_NEXT_PREDS, QF_PREDS, QF_TARGET_NEXT_PREDS
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import QNetAPI
from ray.rllib.utils.schedules.scheduler import Scheduler
from torch import Tensor, nn

from rllib_adapters.modules.pairs import PairModule
from territorial.nets.pair_policy import PairPolicy, epsilon_greedy, flat_mask


class QPairModule(QNetAPI, PairModule):
    """Learns what each action is worth, by ``PairPolicy.action_values``, and plays the best one.

    When it explores, it plays any legal action by chance, as often as ``epsilon`` of DQN says, which is an
    entry of its ``model_config`` beside those of a ``PairModule``. Its snapshots always play the best action.
    """

    temperature: ClassVar[int] = 0
    frozen: ClassVar[Mapping[str, Any]] = {"epsilon": 0.0}

    @classmethod
    def make_policy(cls, model_config: Mapping[str, Any]) -> PairPolicy:
        """Return a new network, to which holding is worth no more than other actions."""
        policy = super().make_policy(model_config)
        nn.init.zeros_(policy.hold.bias)
        return policy

    def setup(self) -> None:
        """Build the network; called by RLlib."""
        super().setup()
        self._epsilon = Scheduler(self.model_config.get("epsilon", 0.0), framework="torch")

    def compute_q_values(
        self, batch: Mapping[str, Any], policy: PairPolicy | None = None
    ) -> dict[str, Tensor]:
        """Return what each action is worth, float32 (N, 1 + 10 C), by a copy of the network or by itself."""
        seen = batch[Columns.OBS]
        mask = flat_mask(seen["action_mask"], seen["pairs"].shape[1])
        return {QF_PREDS: (policy or self.policy).action_values(seen["own"], seen["pairs"], mask)}

    def forward_target(self, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return what each action is worth by the copy of the network; called by RLlib."""
        return self.compute_q_values(batch, self.target_policy)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return what DQN's loss is computed of; overrides ``RLModule._forward``."""
        following = {Columns.OBS: batch[Columns.NEXT_OBS]}
        with torch.no_grad():  # the loss takes from the first which action is the best one, and no more
            best, target = self.compute_q_values(following), self.forward_target(following)
        now = self.compute_q_values(batch)
        return {**now, QF_NEXT_PREDS: best[QF_PREDS], QF_TARGET_NEXT_PREDS: target[QF_PREDS]}

    def _forward_exploration(self, batch: dict[str, Any], t: int = 0, **_: Any) -> dict[str, Any]:
        """Return actions after ``t`` steps of all games; overrides ``RLModule._forward_exploration``."""
        self._epsilon.update(t)
        return self._act(batch, float(self._epsilon.get_current_value()))

    def _forward_inference(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the best actions; overrides ``RLModule._forward_inference``."""
        return self._act(batch, 0.0)

    def _act(self, batch: Mapping[str, Any], epsilon: float) -> dict[str, Any]:
        with torch.no_grad():
            logits, _ = self.read(self.policy, batch)
            return {Columns.ACTIONS: epsilon_greedy(logits, epsilon).multinomial(1)[:, 0]}
