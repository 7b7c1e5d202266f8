"""PPO with TorchRL: one network with masked actions for all agents.

pip install torchrl
python examples/with_torchrl.py
"""

from collections.abc import Callable
from typing import Any

import torch
from tensordict.nn import TensorDictModule
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper
from torchrl.modules import MaskedCategorical, MultiAgentMLP, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss

import territorial

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "obs": "features"}
OPTIONS = {"action_mask": "info", "agent_death": "keep"}  # what TorchRL wants
GROUP = "player"  # TorchRL groups agents by the beginning of their names


def make_env() -> Any:
    """Return a small game."""
    return territorial.parallel_env(**GAME, **OPTIONS)


def train(make: Callable[[], Any] = make_env, steps: int = 1024) -> None:
    """Train for so many steps of the environment that ``make`` returns."""
    env = PettingZooWrapper(make(), categorical_actions=True, use_mask=True, done_on_any=False)
    actor, critic = networks(env)
    loss = ClipPPOLoss(actor, critic)
    loss.set_keys(
        action=env.action_key,
        reward=env.reward_key,
        sample_log_prob=(GROUP, "action_log_prob"),
        value=(GROUP, "state_value"),
        done=(GROUP, "done"),
        terminated=(GROUP, "terminated"),
    )
    loss.make_value_estimator(gamma=0.99, lmbda=0.95)
    optimizer = torch.optim.Adam(loss.parameters(), 3e-4)
    for batch in Collector(env, actor, frames_per_batch=min(steps, 256), total_frames=steps):
        loss.value_estimator(
            batch, params=loss.critic_network_params, target_params=loss.target_critic_network_params
        )
        for _ in range(4):
            terms = loss(batch)
            (terms["loss_objective"] + terms["loss_critic"] + terms["loss_entropy"]).backward()
            optimizer.step()
            optimizer.zero_grad()


def networks(env: PettingZooWrapper) -> tuple[ProbabilisticActor, TensorDictModule]:
    """Return the actor and the critic, which look at one agent's numbers at a time."""
    key = next(key for key in env.observation_spec.keys(True, True) if key[:2] == (GROUP, "observation"))
    seen = env.observation_spec[key]
    agents, numbers, mask = seen.shape[0], seen.shape[-1], (GROUP, "action_mask")
    has_masks = mask in env.observation_spec.keys(True)
    shape = {"n_agents": agents, "centralized": False, "share_params": True, "num_cells": [64]}
    logits = MultiAgentMLP(numbers, env.full_action_spec[env.action_key].space.n, **shape)
    actor = ProbabilisticActor(
        TensorDictModule(logits, [key], [(GROUP, "logits")]),
        spec=env.full_action_spec,
        in_keys={"logits": (GROUP, "logits")} | ({"mask": mask} if has_masks else {}),
        out_keys=[env.action_key],
        distribution_class=MaskedCategorical if has_masks else Categorical,
        return_log_prob=True,
    )
    return actor, TensorDictModule(MultiAgentMLP(numbers, 1, **shape), [key], [(GROUP, "state_value")])


if __name__ == "__main__":
    train()
