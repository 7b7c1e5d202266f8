"""Base class of modules that learn through a ``policy`` network."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import (
    TARGET_NETWORK_ACTION_DIST_INPUTS,
    InferenceOnlyAPI,
    TargetNetworkAPI,
)
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from torch import Tensor, nn

TARGET = "target_policy"
"""The attribute that has the copy for APPO, and begins the names of its weights."""


class PolicyModule(TargetNetworkAPI, InferenceOnlyAPI, TorchRLModule, ValueFunctionAPI):
    """A module whose network is ``policy``.

    When it acts, it gives ``vf_preds``, float32 (N,), besides: learners need not compute these values again,
    see ``learning.rows``. Learners of APPO keep an older copy of the network, which is part of their
    state, and so of checkpoints; runners never get it. It may learn through a network that computes in
    bfloat16; what that returns, weights, their gradients and the loss remain float32.
    """

    policy: nn.Module
    prefix = "policy."
    """Begins the names of the network's weights; snapshots have the rest of the names."""
    learns_in_bf16 = False

    @abstractmethod
    def read(self, policy: nn.Module, batch: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """Return the logits of the network, or of a copy of it, and what values are computed of."""

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return logits, and what values are computed of; overrides ``RLModule._forward``."""
        logits, embeddings = self.read(self.policy, batch)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: embeddings}

    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return what acts, and values; overrides ``RLModule._forward_exploration``."""
        with torch.no_grad():  # as in RLlib's method: acting builds no graphs
            outputs = dict(self._forward(batch, **kwargs))
            embeddings = outputs.pop(Columns.EMBEDDINGS, None)  # too large for episodes
            if embeddings is not None:
                outputs[Columns.VF_PREDS] = self.compute_values(batch, embeddings)
        return outputs

    # The same when it acts greedily: steps of an episode must not differ in what they have.
    _forward_inference = _forward_exploration

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Tensor]:
        """Return what the loss is computed of; overrides ``RLModule._forward_train``."""
        if not self.learns_in_bf16:
            return self._forward(batch, **kwargs)
        with torch.autocast(next(self.parameters()).device.type, torch.bfloat16):
            outputs = self._forward(batch, **kwargs)
        return {name: part.float() for name, part in outputs.items()}

    # ---- the copy for APPO ----------------------------------------------------------------------------

    def make_target_networks(self) -> None:
        """Copy the network as it is; called by APPO's learners."""
        self.target_policy = copy.deepcopy(self.policy).requires_grad_(False)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """Return the network and its copy, which RLlib brings up to date."""
        return [(self.policy, self.target_policy)]

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        """Return the copy's logits; called by APPO's loss."""
        with torch.no_grad():
            return {TARGET_NETWORK_ACTION_DIST_INPUTS: self.read(self.target_policy, batch)[0]}

    def get_non_inference_attributes(self) -> list[str]:
        """Return what runners do without."""
        return [TARGET]

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take the weights in ``state``; where it has none for the copy, those of the network."""
        super().set_state(state)
        if hasattr(self, TARGET) and not any(key.startswith(f"{TARGET}.") for key in state):
            self.target_policy.load_state_dict(self.policy.state_dict())
