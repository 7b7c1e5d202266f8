"""The target network that asynchronous PPO needs: an older copy of a module's policy."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from ray.rllib.core.rl_module.apis import (
    TARGET_NETWORK_ACTION_DIST_INPUTS,
    InferenceOnlyAPI,
    TargetNetworkAPI,
)
from torch import Tensor, nn

TARGET = "target_policy"
"""The attribute that has the copy, and begins the names of its weights."""


class TargetPolicy(TargetNetworkAPI, InferenceOnlyAPI):
    """A module whose network is ``policy``, and whose learners may keep an older copy of it.

    Only APPO asks for the copy. It is part of a learner's state, and so of checkpoints; runners never get it.
    """

    policy: nn.Module

    @abstractmethod
    def logits_of(self, policy: nn.Module, batch: Mapping[str, Any]) -> Tensor:
        """Return the logits of one of the two networks for the rows of ``batch``."""

    def make_target_networks(self) -> None:
        """Copy the network as it is; called by APPO's learners."""
        self.target_policy = copy.deepcopy(self.policy).requires_grad_(False)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """Return the network and its copy, which RLlib brings up to date."""
        return [(self.policy, self.target_policy)]

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        """Return the copy's logits; called by APPO's loss."""
        with torch.no_grad():
            return {TARGET_NETWORK_ACTION_DIST_INPUTS: self.logits_of(self.target_policy, batch)}

    def get_non_inference_attributes(self) -> list[str]:
        """Return what runners do without."""
        return [TARGET]

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take the weights in ``state``; where it has none for the copy, those of the network."""
        super().set_state(state)
        if hasattr(self, TARGET) and not any(key.startswith(f"{TARGET}.") for key in state):
            self.target_policy.load_state_dict(self.policy.state_dict())
