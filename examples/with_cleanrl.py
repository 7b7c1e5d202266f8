"""PPO like CleanRL's multi-agent loop, on SuperSuit's stacked agents.

    pip install supersuit torch
    python examples/with_cleanrl.py

CleanRL is files to copy and change. This one has the shape of its ``ppo_pettingzoo_ma_atari.py``, with
numbers instead of pictures: one network, one row for each agent, and no masks.
"""

import math
from collections.abc import Callable
from typing import Any

import supersuit
import torch
from torch import nn
from torch.distributions import Categorical

import territorial

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "obs": "features"}
OPTIONS = {"action_mask": "none", "agent_death": "keep"}  # what SuperSuit's vectors and the loop want
NUM_GAMES, ROLLOUT, EPOCHS, MINIBATCH = 2, 64, 2, 128
GAMMA, LAMBDA, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.01


def make_env() -> Any:
    """Return a small game."""
    return territorial.parallel_env(**GAME, **OPTIONS)


class Agent(nn.Module):
    """A policy and a value, with nothing in common."""

    def __init__(self, numbers: int, actions: int) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(numbers, 64), nn.Tanh(), nn.Linear(64, actions))
        self.critic = nn.Sequential(nn.Linear(numbers, 64), nn.Tanh(), nn.Linear(64, 1))

    def policy(self, seen: torch.Tensor) -> Categorical:
        """Return the distribution that actions are drawn from."""
        return Categorical(logits=self.actor(seen))


def train(make: Callable[[], Any] = make_env, steps: int = 1024) -> None:
    """Train for so many steps of the environment that ``make`` returns, all games together."""
    rows = supersuit.pettingzoo_env_to_vec_env_v1(make())
    envs = supersuit.concat_vec_envs_v1(rows, NUM_GAMES, num_cpus=0, base_class="gymnasium")
    agent = Agent(envs.observation_space.shape[0], int(envs.action_space.n))
    optimizer = torch.optim.Adam(agent.parameters(), 3e-4, eps=1e-5)
    seen, has_ended = torch.as_tensor(envs.reset(seed=1)[0]), torch.zeros(envs.num_envs)
    for _ in range(math.ceil(steps / (ROLLOUT * NUM_GAMES))):
        rollout, seen, has_ended = play(envs, agent, seen, has_ended)
        learn(agent, optimizer, *rollout)


def play(envs: Any, agent: Agent, seen: torch.Tensor, has_ended: torch.Tensor) -> tuple[Any, ...]:
    """Return a rollout, each field (ROLLOUT * rows, ...), what is seen after it, and who has ended."""
    fields: list[list[torch.Tensor]] = [[] for _ in range(6)]
    with torch.no_grad():
        for _ in range(ROLLOUT):
            policy = agent.policy(seen)
            actions = policy.sample()
            moment = (seen, actions, policy.log_prob(actions), agent.critic(seen).squeeze(-1), has_ended)
            shown, rewards, ends, cuts, _ = envs.step(actions.numpy())
            for field, part in zip(fields, (*moment, torch.as_tensor(rewards).float()), strict=True):
                field.append(part)
            seen, has_ended = torch.as_tensor(shown), torch.as_tensor(ends | cuts).float()
        stacked = [torch.stack(field) for field in fields]
        advantages = gae(stacked, agent.critic(seen).squeeze(-1), has_ended)
    flat = [part.flatten(0, 1) for part in (*stacked[:3], advantages, advantages + stacked[3])]
    return flat, seen, has_ended


def gae(stacked: list[torch.Tensor], last_value: torch.Tensor, last_end: torch.Tensor) -> torch.Tensor:
    """Return advantages (ROLLOUT, rows) that stop at ends."""
    values, ended, rewards = stacked[3], stacked[4], stacked[5]
    advantages = torch.zeros_like(rewards)
    following = torch.zeros_like(last_value)
    for t in reversed(range(len(rewards))):
        goes_on = 1 - (last_end if t + 1 == len(rewards) else ended[t + 1])
        after = last_value if t + 1 == len(rewards) else values[t + 1]
        following = rewards[t] + GAMMA * after * goes_on - values[t] + GAMMA * LAMBDA * goes_on * following
        advantages[t] = following
    return advantages


def learn(agent: Agent, optimizer: torch.optim.Optimizer, *rollout: torch.Tensor) -> None:
    """Change ``agent`` by PPO's clipped objective."""
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(rollout[0])).split(MINIBATCH):
            seen, actions, log_probs, advantages, returns = (part[chosen] for part in rollout)
            policy = agent.policy(seen)
            ratio = (policy.log_prob(actions) - log_probs).exp()
            scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            gain = torch.min(ratio * scaled, ratio.clamp(1 - CLIP, 1 + CLIP) * scaled).mean()
            error = (agent.critic(seen).squeeze(-1) - returns).square().mean()
            loss = error / 2 - gain - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


if __name__ == "__main__":
    train()
