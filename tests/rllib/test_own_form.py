"""A form of one's own, two numbers an agent: PPO by parallel_env, make_vec and RLlib."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical
from torch.distributions import Categorical

import territorial
from rllib_adapters import freeze
from rllib_adapters.modules.policy_module import PolicyModule
from territorial.envs.forms import FORMS, Form, register
from tests.rllib.support import CONFIG, ppo, trained


class Shares(Form):
    name = "shares"

    def keys(self):
        return {"shares": spaces.Box(0, 1, (2,), np.float32)}

    def per_agent(self, seen, games, seats):
        named = enumerate(self.game.layout.columns("players"))
        columns = [i for i, column in named if column.name in ("land_share", "troops_share")]
        return {"shares": seen.players[games[:, None], seats[:, None] - 1, columns]}


class SharesModule(PolicyModule):
    def setup(self):
        self.policy = torch.nn.Linear(2, self.action_space.n + 1)  # logits, and the value
        self.action_dist_cls = TorchCategorical

    def read(self, policy, batch):
        found = policy(batch["obs"]["shares"])
        return torch.where(batch["obs"]["action_mask"] > 0, found[:, :-1], -1e9), found[:, -1]

    def compute_values(self, batch, embeddings=None):
        return self.read(self.policy, batch)[1] if embeddings is None else embeddings


@pytest.mark.parametrize("way", ["parallel_env", "make_vec", "batched", "stock"])
def test_ppo_learns_from_a_form_of_ones_own(ends, monkeypatch, tmp_path, way):
    monkeypatch.setitem(FORMS, "shares", Shares)
    assert register(Shares) is Shares
    if way in ("batched", "stock"):
        env = {"config": CONFIG, "obs": "shares", "action_format": "discrete"}
        algorithm = ends(ppo(env, module=SharesModule, runner=way).build_algo())
        result, _ = trained(algorithm)
        assert np.isfinite(result["learners"]["main"]["total_loss"])
        with pytest.raises(TypeError, match="'main' is a SharesModule, which cannot be frozen"):
            freeze(algorithm, tmp_path, "one")
        return
    one = [1] * (way == "make_vec")
    env = getattr(territorial, way)(*one, config=CONFIG, obs="shares", agent_death="keep")
    module, rows, seen = SharesModule(action_space=spaces.Discrete(71)), [], env.reset(seed=1)[0]
    for _ in range(8):
        own = [{key: part[0] for key, part in seen.items()}] if one else list(seen.values())
        obs = {key: torch.tensor(np.stack([row[key] for row in own]).reshape(6, -1)) for key in own[0]}
        policy = Categorical(logits=module.read(module.policy, {"obs": obs})[0].detach())
        actions = policy.sample()
        chosen = actions[None].numpy() if one else dict(zip(env.agents, actions.tolist(), strict=True))
        seen, rewards, *_ = env.step(chosen)
        rewards = torch.tensor(rewards[0] if one else list(rewards.values()))
        rows.append((*obs.values(), actions, policy.log_prob(actions), rewards))
    shares, masks, actions, before, rewards = map(torch.cat, zip(*rows, strict=True))
    logits, values = module.read(module.policy, {"obs": {"shares": shares, "action_mask": masks}})
    ratio, gain = (Categorical(logits=logits).log_prob(actions) - before).exp(), (rewards - values).detach()
    losses = (values - rewards) ** 2 - torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
    losses.mean().backward()
    assert all((part.grad != 0).any() for part in module.policy.parameters())
