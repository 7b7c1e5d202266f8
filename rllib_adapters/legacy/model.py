"""The model of the old stack: decodes rows of bytes and runs the network of a ``BoardModule``."""

from __future__ import annotations

from typing import Any

from ray.rllib.models.torch.torch_modelv2 import TorchModelV2
from torch import Tensor, nn

from rllib_adapters.legacy.env import ByteRecord
from rllib_adapters.modules.board import BoardModule, ReferenceModule


class BoardModel(TorchModelV2, nn.Module):
    """A custom model over the observations of ``LegacyEnv``::

        config.training(model={
            "custom_model": BoardModel,
            "custom_model_config": {"module": MyModule, **settings_of(env_config)},
        })

    ``module`` is the class that brings the network: the very ``BoardModule`` that the new stack takes, so
    that weights and snapshots are the same in both. The other entries are its ``model_config``.
    """

    def __init__(
        self,
        obs_space: Any,
        action_space: Any,
        num_outputs: int,
        model_config: dict[str, Any],
        name: str,
        *,
        module: type[BoardModule] = ReferenceModule,
        **settings: Any,
    ) -> None:
        TorchModelV2.__init__(self, obs_space, action_space, num_outputs, model_config, name)
        nn.Module.__init__(self)
        self.policy = module.make_policy(settings)
        self.record = ByteRecord(self.policy.layout)
        self._embedding: Tensor | None = None

    def forward(
        self, input_dict: dict[str, Any], state: list[Any], seq_lens: Any
    ) -> tuple[Tensor, list[Any]]:
        """Return masked logits, float32 (N, P + 12), and the state, which is none."""
        seen = self.record.tensors(input_dict["obs"])
        seen["seat"] = seen["seat"].clamp(min=1)  # the rows with which RLlib tries a policy are all zero
        logits, self._embedding = self.policy(seen)
        return logits, state

    def value_function(self) -> Tensor:
        """Return float32 (N,): the values of the rows of the last ``forward``."""
        if self._embedding is None:
            raise RuntimeError("value_function() was called before forward(); call forward() first")
        return self.policy.values(self._embedding)
