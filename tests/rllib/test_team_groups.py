"""Teams as groups of RLlib's ``with_agent_groups``: who is in which, that they stay whole, and training."""

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import (
    TorchCategorical,
    TorchMultiDistribution,
)
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule

from rllib_adapters import TerritorialTeamsEnv, team_groups
from rllib_adapters.envs.env_config import MAIN, module_of
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from territorial.league import Group, LineUpDistribution

GAME = {
    "height": 20,
    "width": 20,
    "num_players": 6,
    "map": "open",
    "max_ticks": 600,
    "teams": 3,
    "rewards": {"team_land": 1, "placement": 1},
}
SEATS = ["agent", "agent", "agent", "agent", "banker", "banker"]
ENV_CONFIG = {"config": GAME, "seats": SEATS, "obs": "pairs", "num_candidates": 3}


def test_groups_are_the_agents_of_teams():
    assert team_groups(ENV_CONFIG) == {"team_1": ["player_0", "player_1"], "team_2": ["player_2", "player_3"]}
    turn = {"config": GAME | {"team_deal": "turn"}, "seats": SEATS}
    assert team_groups(turn) == {
        "team_1": ["player_0", "player_3"],
        "team_2": ["player_1"],
        "team_3": ["player_2"],
    }
    table = LineUpDistribution(
        [
            Group(1, {"trainable:rival": 1}),
            Group(1, {"trainable:main": 1}),
            Group(2, {"snapshot:a": 1, "bot:banker": 1}),
            Group(2, {"trainable:rival": 1}),
        ]
    )
    groups = team_groups({"config": GAME, "league": table})
    assert groups == {
        "team_1": ["rival:player_0", "player_1"],
        "team_3": ["rival:player_4", "rival:player_5"],
    }


def test_what_has_no_groups_says_why():
    table = LineUpDistribution(
        [Group(5, {"trainable:main": 1}), Group(1, {"trainable:main": 1, "bot:banker": 1})]
    )
    for entries, message in (
        ({"config": {"num_players": 6}}, "teams is None; it must be set"),
        ({"config": GAME | {"team_deal": "random"}}, "team_deal is 'random'; it must be 'blocks' or 'turn'"),
        (
            {"config": GAME, "league": table},
            "seat 6 may be bot:banker or trainable:main; it must always be the same",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            team_groups(entries)


def choices(observation, rng):
    """Legal actions of the members of a group, by chance."""
    return [int(rng.choice(np.flatnonzero(seen["action_mask"]))) for seen in observation]


def test_groups_stay_whole_until_their_team_is_out():
    env, plain = TerritorialTeamsEnv(ENV_CONFIG), TerritorialMultiAgentEnv(ENV_CONFIG)
    groups, rng, apart, ended_early = team_groups(ENV_CONFIG), np.random.default_rng(0), 0, 0
    assert env.possible_agents == ["team_1", "team_2"]
    for seed in range(6):
        seen, _ = env.reset(seed=seed)
        plain.reset(seed=seed)
        assert env.agents == list(seen) == ["team_1", "team_2"]
        while env.agents:
            acting = list(env.agents)
            actions = {}
            for name in acting:
                assert env.get_observation_space(name).contains(seen[name])
                actions[name] = choices(seen[name], rng)
                assert env.get_action_space(name).contains(tuple(actions[name]))
            alone = {
                agent: action
                for name in acting
                for agent, action in zip(groups[name], actions[name], strict=True)
            }
            seen, rewards, ends, _, infos = env.step(actions)
            _, single, single_ends, _, _ = plain.step(alone)
            alive = env.env.game.state.alive[0]
            for name in acting:
                own = [single[agent] for agent in groups[name]]
                assert (rewards[name], infos[name]["_group_rewards"]) == (sum(own), own)
                assert own == pytest.approx([own[0]] * len(own)), "allies have one reward by these weights"
                assert {single_ends[agent] for agent in groups[name]} == {ends[name]}
                members = [int(agent.removeprefix("player_")) + 1 for agent in groups[name]]
                apart += len({bool(alive[p]) for p in members}) == 2
                ended_early += ends[name] and not env.env.game.results.is_over[0]
    assert min(apart, ended_early) > 0, "a member died before its team, and a team before the game ended"
    env.close()
    plain.close()


class TeamModule(TorchRLModule, ValueFunctionAPI):
    """One policy for all members, by what each sees, and a critic that sees all of them."""

    def setup(self):
        members = self.observation_space.spaces
        self.choices = self.action_space.spaces[0].n
        width = members[0]["own"].shape[0]
        self.policy = torch.nn.Linear(width, self.choices)
        self.critic = torch.nn.Linear(width * len(members), 1)

    def get_train_action_dist_cls(self):
        count = len(self.action_space.spaces)
        return TorchMultiDistribution.get_partial_dist_cls(
            child_distribution_cls_struct=(TorchCategorical,) * count, input_lens=(self.choices,) * count
        )

    get_exploration_action_dist_cls = get_inference_action_dist_cls = get_train_action_dist_cls

    def _forward(self, batch, **kwargs):
        logits = [self.policy(seen["own"]) + (seen["action_mask"] - 1.0) * 1e9 for seen in batch[Columns.OBS]]
        return {Columns.ACTION_DIST_INPUTS: torch.cat(logits, 1)}

    def compute_values(self, batch, embeddings=None):
        return self.critic(torch.cat([seen["own"] for seen in batch[Columns.OBS]], 1)).squeeze(-1)


@pytest.mark.usefixtures("running_ray")
def test_an_algorithm_trains_with_teams_as_agents(ends):
    config = (
        PPOConfig()
        .environment(TerritorialTeamsEnv, env_config=ENV_CONFIG)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=1, rollout_fragment_length=40)
        .multi_agent(policies={MAIN}, policy_mapping_fn=module_of)
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(rl_module_specs={MAIN: RLModuleSpec(module_class=TeamModule)})
        )
        .training(train_batch_size_per_learner=80, minibatch_size=32, num_epochs=1, lr=0.01)
    )
    algorithm = ends(config.build_algo())
    before = algorithm.get_module(MAIN).policy.weight.detach().clone()
    result = algorithm.train()
    learned = result["learners"][MAIN]
    assert np.isfinite(learned["total_loss"])
    assert learned["num_module_steps_trained"] > 0
    assert not torch.equal(before, algorithm.get_module(MAIN).policy.weight)
    assert set(result["env_runners"]["agent_steps"]) == {"team_1", "team_2"}
