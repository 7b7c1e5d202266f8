"""What a user of RLlib's old API stack writes for a league of networks and bots on one-hot boards."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from ray.rllib.algorithms.ppo.ppo_torch_policy import PPOTorchPolicy
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.models.torch.torch_modelv2 import TorchModelV2
from ray.rllib.policy.policy import Policy

from territorial.actions.encoding import num_targets
from territorial.constants import NUM_FRACTIONS

EPISODE = 1000

made = 0
"""Policies that were made in this process."""
alive: weakref.WeakSet[Policy] = weakref.WeakSet()
"""Those of them that are left."""


class OneHotBoards(MultiAgentEnv):
    """An environment that shows boards in one-hot planes: random ones, as only their size matters here.

    ``env_config`` has height, width, num_players and frames. All players are agents, ``player_0`` ...
    """

    def __init__(self, env_config: Mapping[str, Any]) -> None:
        super().__init__()
        height, width, players, frames = (
            env_config[name] for name in ("height", "width", "num_players", "frames")
        )
        planes, actions = frames * (players + 1), (num_targets(players), NUM_FRACTIONS)
        self.observation_space = spaces.Dict(
            {
                "action_mask": spaces.Box(0, 1, (sum(actions),), np.float32),
                "observations": spaces.Box(-1, 1, (planes, height, width), np.int8),
                "stats": spaces.Box(0, 1, (2 * players,), np.float32),
            }
        )
        self.action_space = spaces.MultiDiscrete(actions)
        self.possible_agents = self.agents = [f"player_{i}" for i in range(players)]
        self._boards = np.random.default_rng(0).integers(0, 2, (planes, height, width), np.int8)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the observations of all agents."""
        self._steps = 0
        return self._show(), {}

    def step(self, action_dict: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Return the next observations, rewards of zero, and ends after ``EPISODE`` steps."""
        self._steps += 1
        ends = {"__all__": self._steps >= EPISODE}
        return self._show(), dict.fromkeys(self.agents, 0.0), ends, {"__all__": False}, {}

    def _show(self) -> dict[str, Any]:
        space = self.observation_space
        rest = {name: np.ones(space[name].shape, np.float32) for name in ("action_mask", "stats")}
        return {agent: {"observations": self._boards.copy(), **rest} for agent in self.agents}


class SmallModel(TorchModelV2, torch.nn.Module):
    """One convolution of large steps, so that what it takes itself is next to nothing."""

    def __init__(self, obs_space: Any, action_space: Any, num_outputs: int, *arguments: Any) -> None:
        torch.nn.Module.__init__(self)
        TorchModelV2.__init__(self, obs_space, action_space, num_outputs, *arguments)
        planes = obs_space.original_space["observations"].shape[0]
        self.boards = torch.nn.Conv2d(planes, 8, 8, stride=8)
        self.logits, self.value = torch.nn.Linear(8, num_outputs), torch.nn.Linear(8, 1)

    def forward(self, input_dict: Any, state: list[Any], seq_lens: Any) -> tuple[Any, list[Any]]:
        """Return masked logits."""
        seen = input_dict["obs"]
        self._seen = torch.relu(self.boards(seen["observations"].float())).mean((2, 3))
        return torch.where(seen["action_mask"] > 0, self.logits(self._seen), -1e9), state

    def value_function(self) -> Any:
        """Return the values of what ``forward`` saw."""
        return self.value(self._seen).squeeze(-1)


class Counted(Policy):
    """A policy that is counted when it is made."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        global made
        made += 1
        alive.add(self)
        super().__init__(*arguments, **keywords)


class SmallNetwork(Counted, PPOTorchPolicy):
    """RLlib's own policy of PPO."""


class HoldPolicy(Counted):
    """A policy without a network: it holds."""

    def compute_actions(self, obs_batch: Any, *arguments: Any, **keywords: Any) -> Any:
        """Return zeros."""
        return np.zeros((len(obs_batch), len(self.action_space.nvec)), np.int64), [], {}

    def get_weights(self) -> dict[str, Any]:
        """Return nothing: there is nothing to learn."""
        return {}

    def set_weights(self, weights: Any) -> None:
        """Do nothing."""

    def learn_on_batch(self, samples: Any) -> dict[str, Any]:
        """Learn nothing."""
        return {}
