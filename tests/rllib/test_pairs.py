"""The form "pairs" with RLlib: the same games in both runners, and networks that can be taken out."""

import math

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns

from rllib_adapters import configure, policy_of
from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.league.curriculum import set_env
from rllib_adapters.modules.pairs import PairModule, TwoPartActions
from territorial import GameConfig, parallel_env
from territorial.actions.encoding import unflatten
from territorial.actions.formats import FORMATS
from territorial.bots import Network
from territorial.nets import PairPolicy
from tests.bots.networks import random_rows

pytestmark = pytest.mark.release

CONFIG = GameConfig(height=24, width=24, num_players=6, max_ticks=1000)
SEATS = ["agent", "agent", "banker", "metronome", "novice", "banker"]


def entries(**changes):
    return {"config": CONFIG, "seats": SEATS, "obs": "pairs", **changes}


def small_config(runner="batched", **changes):
    config = configure(PPOConfig(), entries(**changes), runner=runner, size="small")
    config.env_runners(num_env_runners=0, rollout_fragment_length=12, num_envs_per_env_runner=2)
    return config.training(train_batch_size_per_learner=24, minibatch_size=8, num_epochs=1)


def legal_numbers(mask, rng):
    """A legal action of one number, or of two parts, for its flat mask."""
    if len(mask) % 10 == 1:
        return rng.choice(np.flatnonzero(mask))
    return np.array([rng.choice(np.flatnonzero(mask[:-10])), rng.integers(10)])


# ---- the environment -------------------------------------------------------------------------------


@pytest.mark.parametrize("action_format", FORMATS)
def test_it_plays_the_game_of_the_pettingzoo_environment(action_format):
    options = {"obs": "pairs", "action_format": action_format, "num_candidates": 3, "max_cycles": 80}
    options |= {"repeat": 2, "launches": True}
    mine, rng = TerritorialMultiAgentEnv(entries(**options)), np.random.default_rng(5)
    other = parallel_env(config=CONFIG, seats=SEATS, **options)
    (seen, told), (theirs, their_infos) = mine.reset(seed=5), other.reset(seed=5)
    while mine.agents:
        assert list(seen) == other.agents
        for agent, own in seen.items():
            assert mine.get_observation_space(agent).contains(own)
            mask = theirs[agent].pop("action_mask")
            np.testing.assert_array_equal(own.pop("action_mask"), np.hstack(mask))
            assert own.keys() == theirs[agent].keys() == {"own", "pairs", "targets"}
            np.testing.assert_equal(own, theirs[agent])
            np.testing.assert_equal(told[agent]["launches"], their_infos[agent]["launches"])
        actions = {agent: legal_numbers(mask, rng) for agent, mask in other.action_masks().items()}
        seen, rewards, ends, cuts, told = mine.step(actions)
        theirs, their_rewards, their_ends, their_cuts, their_infos = other.step(actions)
        assert rewards == their_rewards
        assert {agent: ends[agent] for agent in rewards} == their_ends
        assert all(their_cuts.values()) == cuts["__all__"]
        if not other.agents:  # the last observations are those of all who were there
            break
        seen = {agent: seen[agent] for agent in mine.agents}
    assert mine.agents == []
    assert max(info["tick"] for info in told.values()) > 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"obs": "pair"},
            r"obs is 'pair' \(did you mean 'pairs'\?\); it must be one of packed, pairs. Other",
        ),
        (
            {"obs": "packed", "action_format": "pairs"},
            "action_format is 'pairs' and obs is 'packed'; it must",
        ),
        ({"action_format": "pair"}, "action_format is 'pair'"),
        ({"num_candidates": 0}, "num_candidates is 0; it must be a whole number from 1 to 250"),
        ({"repeat": 0}, "repeat is 0; it must be a whole number"),
        ({"obs": "packed", "num_candidates": 3}, "num_candidates is 3 and obs is 'packed'"),
    ],
)
def test_bad_options_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        TerritorialMultiAgentEnv(entries(**changes))


def test_options_of_the_environment_among_settings_and_other_formats_are_refused():
    with pytest.raises(TypeError, match="obs is an entry of the env_config"):
        configure(PPOConfig(), {}, obs="pairs")
    with pytest.raises(TypeError, match=r"the module of 'main' is .*; it must be a subclass of RLModule"):
        configure(PPOConfig(), entries(), module=int)
    with pytest.raises(
        ValueError, match="action_format is 'discrete'; a PairModule needs one of pairs, pairs_m"
    ):
        PairModule(model_config={"action_format": "discrete"})


# ---- runners ---------------------------------------------------------------------------------------


# ---- the module ------------------------------------------------------------------------------------


def test_actions_of_two_parts_are_as_likely_as_those_of_one_number():
    logits = torch.randn(50, 31, generator=torch.Generator().manual_seed(0))
    dist = TwoPartActions.from_logits(logits)
    drawn = dist.sample()
    flat = torch.arange(31).expand(50, 31)
    both = torch.from_numpy(unflatten(flat.numpy()))
    assert drawn.shape == (50, 2)
    found = torch.stack([dist.logp(both[:, i]) for i in range(31)], 1)
    torch.testing.assert_close(found, dist._dist.logits, rtol=1e-5, atol=1e-5)
    greedy = dist.to_deterministic()
    assert (greedy.sample().numpy() == unflatten(PairPolicy.greedy(dist._dist.logits).numpy())).all()
    assert greedy.logp(greedy.sample()).tolist() == [0.0] * 50


@pytest.mark.usefixtures("running_ray")
def test_a_network_that_has_learned_is_taken_out_and_plays_in_the_engine(ends, tmp_path):
    config = small_config(repeat=2)
    config.evaluation(evaluation_interval=1, evaluation_duration=1, evaluation_config={"explore": False})
    algorithm = ends(config.build_algo())
    before = policy_of(algorithm).state_dict()
    result = algorithm.train()
    policy = policy_of(algorithm)
    assert not all(values.equal(before[name]) for name, values in policy.state_dict().items())
    assert math.isfinite(result["learners"][MAIN]["total_loss"])
    module, rows = algorithm.env_runner.module[MAIN], algorithm.env_runner._source.rows
    seen = rows("pairs", algorithm.env_runner.env.learners, "cpu")
    logits, values = policy(seen["own"], seen["pairs"], seen["action_mask"])
    found = module.forward_train({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
    torch.testing.assert_close(found, logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(module.compute_values({Columns.OBS: seen}), values, rtol=1e-4, atol=1e-4)
    policy.export(tmp_path / "mine.safetensors", interval=20, least_equal=0.0, rows=random_rows(200, 0))
    assert Network(tmp_path / "mine.safetensors").interval == 20
    set_env(algorithm, config=GameConfig(height=32, width=32, num_players=3), seats=["agent"] * 3)
    algorithm.train()  # the weights fit any game
    with pytest.raises(ValueError, match="num_candidates cannot change while an algorithm runs"):
        set_env(algorithm, num_candidates=3)
