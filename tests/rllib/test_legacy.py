"""The old API stack: rows of bytes, policies that own little, and an iteration of PPO with all of them."""

import importlib.util
import pathlib
import re
from copy import deepcopy

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.ppo_torch_policy import PPOTorchPolicy
from ray.rllib.policy.policy import PolicySpec
from ray.rllib.policy.sample_batch import SampleBatch

from rllib_adapters import Bot
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.league.old_stack import BotPolicy, LeanPPOPolicy
from rllib_adapters.legacy import BoardModel, BoardSnapshotPolicy, ByteRecord, LegacyEnv
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.frozen_pool import pool_settings
from territorial.observation.layout import ObsLayout
from tests.rllib.support import CONFIG, LEAGUE, BigModule, SmallModule, fill, small_config

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "old_api_stack.md"
ENV = {"config": CONFIG, "frames": 2}
SETTINGS = settings_of(ENV)


class Holder(Bot):
    """Holds."""

    def act(self, seen, random):
        return np.zeros((len(seen), 2), np.int64)


def league(store, capacity=100):
    """A policy that learns, two bots and two snapshots, on the old stack in this process."""
    pool = pool_settings(SETTINGS, store, [SmallModule, BigModule])
    policies = {
        "p0": PolicySpec(policy_class=LeanPPOPolicy),
        "bot_1": PolicySpec(policy_class=BotPolicy, config={"bot": Holder()}),
        "bot_2": PolicySpec(policy_class=BotPolicy, config={"bot": Holder()}),
        "frozen_3": PolicySpec(policy_class=BoardSnapshotPolicy, config={"pool": pool, "snapshot": "first"}),
        "frozen_4": PolicySpec(policy_class=BoardSnapshotPolicy, config={"pool": pool, "snapshot": "second"}),
    }
    by_seat = ["p0", *policies]
    model = {"custom_model": BoardModel, "custom_model_config": {"module": SmallModule, **SETTINGS}}
    return (
        PPOConfig()
        .api_stack(enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False)
        .environment(LegacyEnv, env_config=ENV)
        .env_runners(num_env_runners=0, rollout_fragment_length=16)
        .training(train_batch_size=16, minibatch_size=8, num_epochs=1, model=model)
        .multi_agent(
            policies=policies,
            policy_mapping_fn=lambda agent, *_, **__: by_seat[int(agent.split("_")[1])],
            policies_to_train=["p0"],
            policy_map_capacity=capacity,
        )
    )


def test_a_row_of_bytes_is_the_observation_in_numpy_and_in_torch():
    whole, legacy = TerritorialMultiAgentEnv(ENV), LegacyEnv(ENV)
    seen, rows = whole.reset(seed=3)[0], legacy.reset(seed=3)[0]
    stack = np.stack(list(rows.values()))
    record = deepcopy(legacy.record)  # as RLlib copies what the configuration has
    arrays = record.arrays(stack)
    tensors = record.tensors(torch.from_numpy(stack))
    for i, agent in enumerate(seen):
        assert legacy.observation_spaces[agent].contains(rows[agent])
        for found in (arrays, {name: tensor.numpy() for name, tensor in tensors.items()}):
            np.testing.assert_equal({name: found[name][i] for name in found}, seen[agent])
            assert all(found[name].dtype == array.dtype for name, array in seen[agent].items())


def test_an_observation_of_the_full_game_is_a_quarter_of_a_megabyte():
    layout = ObsLayout(height=256, width=256, num_players=32, frames=4)
    assert ByteRecord(layout).num_bytes == 225_376
    with pytest.raises(ValueError, match=r"shape \(1, 5\).* must be \(N, 225376\) of torch.uint8"):
        ByteRecord(layout).tensors(torch.zeros(1, 5, dtype=torch.uint8))


@pytest.mark.usefixtures("running_ray")
@pytest.mark.parametrize("capacity", [100, pytest.param(2, marks=pytest.mark.verify)])
def test_it_learns_among_bots_and_snapshots_and_keeps_no_dummy_batch(ends, tmp_path, capacity):
    algorithm = ends(league(fill(tmp_path), capacity).build_algo())
    before = deepcopy(algorithm.get_policy("p0").get_weights())
    algorithm.train()
    after = algorithm.get_policy("p0").get_weights()
    assert any((before[name] != after[name]).any() for name in before)
    policies = algorithm.env_runner.policy_map
    for name in list(policies.keys()):
        policy = policies[name]
        assert getattr(policy, "_dummy_batch", None) is None
        assert name == "p0" or not hasattr(policy, "model")
    if capacity == 100:
        assert policies["frozen_3"]._players is policies["frozen_4"]._players
        opened = {name for name, _ in policies["frozen_3"]._players._open}
        assert opened == {"first", "second"}
        batch = algorithm.env_runner.sample().policy_batches
        assert batch["p0"][SampleBatch.OBS].dtype == np.uint8
        for name in ("bot_1", "frozen_3"):  # what opponents saw is not kept for training
            assert not {SampleBatch.OBS, SampleBatch.NEXT_OBS} & batch[name].keys()
    policies["frozen_4"].play("first")
    assert BoardSnapshotPolicy.from_state(policies["frozen_4"].get_state()).config["snapshot"] == "first"


@pytest.mark.verify
@pytest.mark.usefixtures("running_ray")
@pytest.mark.skipif(not PAGE.exists(), reason=f"{PAGE} is not here")
def test_weights_move_to_the_new_stack_as_the_page_says(ends, tmp_path):
    (block,) = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    old = ends(league(fill(tmp_path)).build_algo())
    new = ends(small_config(store=tmp_path).build_algo())
    exec(compile(block, PAGE.name, "exec"), {"old_algorithm": old, "new_algorithm": new})
    moved = new.learner_group.get_weights(["main"])["main"]
    given = {name: part.numpy() for name, part in old.get_policy("p0").model.policy.state_dict().items()}
    np.testing.assert_equal({name: moved[f"policy.{name}"] for name in given}, given)


def test_a_policy_is_tried_with_four_rows(monkeypatch):
    asked, name = [], "_get_dummy_batch_from_view_requirements"
    monkeypatch.setattr(PPOTorchPolicy, name, lambda policy, batch_size: asked.append(batch_size))
    getattr(LeanPPOPolicy.__new__(LeanPPOPolicy), name)(32)
    assert asked == [4]


def test_what_does_not_fit_says_what_to_do():
    with pytest.raises(ValueError, match="env_config has a league, which the old API stack"):
        LegacyEnv({"config": CONFIG, "league": LEAGUE})
    env = LegacyEnv(ENV)
    spaces = env.observation_spaces["player_0"], env.action_spaces["player_0"]
    bot = BotPolicy(*spaces, {"bot": Bot(), "normalize_actions": True})
    with pytest.raises(NotImplementedError, match=r"Bot must have a method act\(seen, random\)"):
        bot.compute_actions(np.zeros((1, 3), np.uint8))
    with pytest.raises(NotImplementedError, match="remove it from policies_to_train"):
        bot.learn_on_batch(None)
    model = BoardModel(*spaces, 18, {}, "model", module=SmallModule, **SETTINGS)
    with pytest.raises(RuntimeError, match="was called before forward"):
        model.value_function()


@pytest.mark.checkout
def test_the_example_builds_all_its_policies(tmp_path):
    path = pathlib.Path(__file__).parents[2] / "examples" / "legacy_league.py"
    spec = importlib.util.spec_from_file_location("legacy_league", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    config = example.make_config(CONFIG, str(tmp_path), 32, 2)
    assert (len(config.policies), config.policies_to_train) == (65, ["p0"])
