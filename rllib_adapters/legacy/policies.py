"""Policies of the old stack that own no more than they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.algorithms.ppo.ppo_torch_policy import PPOTorchPolicy
from ray.rllib.policy.policy import Policy
from ray.rllib.policy.sample_batch import SampleBatch

from rllib_adapters.legacy.env import ByteRecord
from rllib_adapters.modules.frozen_pool import BothForms, opponents_of
from territorial.nets.frozen import FrozenPolicies
from territorial.observation.layout import ObsLayout

DUMMY_ROWS = 2
"""Rows of the batch with which a policy of the old stack finds out what its loss needs: 32, stock."""


class LeanPPOPolicy(PPOTorchPolicy):
    """PPO's policy without the dummy batch: it is made of two rows and released after its only use."""

    def _get_dummy_batch_from_view_requirements(self, batch_size: int = 1) -> SampleBatch:
        """Return a batch of two rows; overrides ``Policy._get_dummy_batch_from_view_requirements``."""
        return super()._get_dummy_batch_from_view_requirements(min(batch_size, DUMMY_ROWS))

    def _initialize_loss_from_dummy_batch(self, *args: Any, **kwargs: Any) -> None:
        """Try the loss, and release the batch; overrides ``Policy._initialize_loss_from_dummy_batch``."""
        super()._initialize_loss_from_dummy_batch(*args, **kwargs)
        self._dummy_batch = None


class BotPolicy(Policy):
    """The base class of opponents without a network of RLlib's: neither model nor dummy batch.

    A subclass has a method ``choose``. Observations are not kept for training. The policy's ``config`` must
    have ``env_settings``, what ``settings_of(env_config)`` returns.
    """

    def __init__(self, observation_space: Any, action_space: Any, config: Mapping[str, Any]) -> None:
        super().__init__(observation_space, action_space, config)
        self.layout = ObsLayout.from_dict(config["env_settings"]["layout"])
        self.record = ByteRecord(self.layout)
        self.rng = np.random.default_rng()
        for column in (SampleBatch.OBS, SampleBatch.NEXT_OBS):
            self.view_requirements[column].used_for_training = False

    def choose(self, rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Return actions, (N, 2), for observations uint8 (N, num_bytes); ``record.arrays`` reads them."""
        raise NotImplementedError(f"{type(self).__name__} must have a method choose(rows)")

    def compute_actions(self, obs_batch: Any, *_: Any, **__: Any) -> tuple[Any, list[Any], dict[str, Any]]:
        """Return what ``choose`` says, no state and no extras."""
        return np.asarray(self.choose(np.asarray(obs_batch)), np.int64), [], {}

    def get_weights(self) -> dict[str, Any]:
        """Return an empty dict."""
        return {}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Do nothing."""

    def learn_on_batch(self, samples: Any) -> dict[str, Any]:
        """Raise NotImplementedError: nothing here learns."""
        raise NotImplementedError(
            f"a {type(self).__name__} cannot be trained; remove it from policies_to_train"
        )


class SnapshotPolicy(BotPolicy):
    """Plays a snapshot of a store; all of a process share the weights, and so do all processes.

    Its ``config`` must have ``env_settings``; ``pool``, what ``pool_settings`` returns; and ``snapshot``,
    the name, which ``play`` changes.
    """

    def __init__(self, observation_space: Any, action_space: Any, config: Mapping[str, Any]) -> None:
        super().__init__(observation_space, action_space, config)
        self.snapshot: str = config["snapshot"]
        self._players = _shared_players(config["pool"])

    def play(self, snapshot: str) -> None:
        """Let another snapshot play from now on."""
        self.snapshot = snapshot

    def choose(self, rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Return what the snapshot's policy draws."""
        seen = self.record.tensors(torch.from_numpy(np.array(rows)))
        actions: npt.NDArray[np.int64] = self._players.act([self.snapshot] * len(rows), seen).numpy()
        return actions

    def get_state(self) -> dict[str, Any]:
        """Return the state of a policy, and which snapshot it plays."""
        return {**super().get_state(), "snapshot": self.snapshot}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Put a state of ``get_state`` in place."""
        self.snapshot = state["snapshot"]
        super().set_state(dict(state))


_players: dict[str, FrozenPolicies | BothForms] = {}


def _shared_players(pool: Mapping[str, Any]) -> FrozenPolicies | BothForms:
    """Return the process's only players for a pool's settings."""
    names = [module.architecture for module in pool["architectures"]]
    key = f"{pool['store'].path} {pool['layout']} {pool['config'].hexdigest} {names}"
    if key not in _players:
        _players[key] = opponents_of(pool)
    return _players[key]
