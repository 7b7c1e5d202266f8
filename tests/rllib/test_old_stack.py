"""Bots and snapshots on RLlib's old API stack, in environments that are not of this package."""

import copy

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo.ppo_torch_policy import PPOTorchPolicy
from ray.rllib.models.torch.torch_modelv2 import TorchModelV2
from ray.rllib.policy.policy import PolicySpec
from ray.rllib.policy.sample_batch import SampleBatch

from rllib_adapters import Bot
from rllib_adapters.league.old_stack import BotPolicy, LeanPPOPolicy, SnapshotPolicy, freeze_policy
from territorial.league import MismatchError, SnapshotStore
from tests.rllib import kit
from tests.torch.reproducible import need


class Model(TorchModelV2, torch.nn.Module):
    """Two layers over a board, and a constant that is no weight."""

    def __init__(self, *given, width=8):
        TorchModelV2.__init__(self, *given)
        torch.nn.Module.__init__(self)
        self.body, self.large = torch.nn.Linear(84, width), torch.tensor(kit.LARGE)
        self.columns, self.value = torch.nn.Linear(width, kit.COLUMNS), torch.nn.Linear(width, 1)

    def forward(self, input_dict, state, seq_lens):
        seen = input_dict["obs"]
        self.embedding = torch.tanh(self.body(seen["observation"].flatten(1)))
        return torch.where(seen["action_mask"] > 0, self.columns(self.embedding), self.large), state

    def value_function(self):
        return self.value(self.embedding)[:, 0]


class Extreme(Bot):
    """Plays the bounds of a range, far from what modules give without being scaled."""

    def act(self, seen, random):
        return np.float32(random.choice([-2, 2], (len(seen), 2)))


OWN, CONVOLUTION = {"custom_model": Model}, {"conv_filters": [[4, [3, 3], 2]]}
# Of each environment: who learns, who else plays, by agent, and the model.
CASES = {
    "own model": ("four", {"player_0": "learner", "player_1": "bot"}, kit.Column(0), OWN),
    "snapshot": ("four", {"player_0": "learner", "player_1": "frozen"}, kit.Column(0), OWN),
    "unlike": ("unlike", {"a": "learner", "b": "bot", "c": "other"}, Extreme(), {}),
}


def config_of(env, acts, bot, model, store):
    kit.register()
    policies = {
        "learner": PolicySpec(LeanPPOPolicy),
        "other": PolicySpec(LeanPPOPolicy),
        "bot": PolicySpec(BotPolicy, config={"bot": bot}),
        "frozen": PolicySpec(SnapshotPolicy, config={"store": str(store), "snapshot": "first"}),
    }
    config = kit.config_of(env).api_stack(
        enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False
    )
    config.training(train_batch_size=40, model=model)
    return config.multi_agent(
        policies={name: policies[name] for name in acts.values()},
        policy_mapping_fn=lambda agent, *_, **__: acts[agent],
        policies_to_train=["learner"],
    )


@pytest.mark.parametrize(("env", "acts", "bot", "model"), CASES.values(), ids=CASES)
def test_one_learns_among_bots_and_snapshots(env, acts, bot, model, ends, tmp_path):
    if env == "four":
        need("pygame", "rllib")
    algorithm = ends(config_of(env, acts, bot, model, tmp_path).build_algo())
    learner = algorithm.get_policy("learner")
    freeze_policy(algorithm, tmp_path, "first", "learner", iteration=0)
    before = copy.deepcopy(learner.get_weights())
    for _ in range(2):
        algorithm.train()
    assert any((before[name] != part).any() for name, part in learner.get_weights().items())
    policies = {name: algorithm.get_policy(name) for name in acts.values()}
    assert {getattr(policy, "_dummy_batch", None) for policy in policies.values()} == {None}
    batches = algorithm.env_runner.sample().policy_batches
    assert {name for name, batch in batches.items() if SampleBatch.OBS not in batch} == {
        name for name in acts.values() if name in ("bot", "frozen")
    }


def test_a_policy_is_tried_with_four_rows(monkeypatch):
    asked, name = [], "_get_dummy_batch_from_view_requirements"
    monkeypatch.setattr(PPOTorchPolicy, name, lambda policy, batch_size: asked.append(batch_size))
    getattr(LeanPPOPolicy.__new__(LeanPPOPolicy), name)(32)
    assert asked == [4]


@pytest.mark.parametrize("model", [OWN, CONVOLUTION])
def test_a_snapshot_acts_as_its_policy_did(model, ends, tmp_path):
    need("pygame", "rllib")
    acts = {"player_0": "learner", "player_1": "frozen"}
    algorithm = ends(config_of("four", acts, None, model, tmp_path).build_algo())
    learner, frozen = algorithm.get_policy("learner"), algorithm.get_policy("frozen")
    for name in ("first", "second"):
        algorithm.train() if name == "second" else None
        freeze_policy(algorithm, tmp_path, name, "learner")
        frozen.play(name)
        rows = np.stack([learner.observation_space.sample() for _ in range(6)])
        snapshot = frozen._players._frozen(name, torch.device("cpu"))
        with torch.no_grad():
            wanted, _ = learner.model({SampleBatch.OBS: torch.from_numpy(rows)})
            assert torch.equal(snapshot.network.run(snapshot.weights, torch.from_numpy(rows)), wanted)
        assert frozen.compute_actions(rows)[0].shape == (6,)
    assert snapshot.network is frozen._players._frozen("first", torch.device("cpu")).network
    assert all(part.is_meta for part in snapshot.network.module.parameters())
    other = config_of("four", acts, None, {**model, "fcnet_activation": "relu"}, tmp_path).build_algo()
    with pytest.raises(MismatchError, match="snapshot 'first': "):
        ends(other).env_runner.sample()


def test_what_cannot_be_frozen_or_played_is_named(ends, tmp_path):
    need("pygame", "rllib")
    acts, model = {"player_0": "learner", "player_1": "bot"}, {**CONVOLUTION, "use_lstm": True}
    algorithm = ends(config_of("four", acts, Extreme(), model, tmp_path).build_algo())
    for name in acts.values():
        with pytest.raises(ValueError, match=f"policy is '{name}', whose model is .*; it must be a TorchMod"):
            freeze_policy(algorithm, tmp_path, "first", name)
    with pytest.raises(ValueError, match="the bot 'Extreme' returned"):
        algorithm.env_runner.sample()
    with pytest.raises(NotImplementedError, match="remove it from policies_to_train"):
        algorithm.get_policy("bot").learn_on_batch(None)
    assert SnapshotStore(tmp_path).names() == []
