"""A policy of Stable-Baselines3 that is a ``PairPolicy``: it learns, obeys masks, and plays in the engine."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
sb3_contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")

import torch  # noqa: E402 - only where they are installed
from stable_baselines3 import PPO  # noqa: E402

from territorial.integrations.sb3 import MaskableVecEnv  # noqa: E402
from territorial.integrations.sb3_pairs import (  # noqa: E402
    MaskablePairActorCriticPolicy,
    PairActorCriticPolicy,
)
from territorial.nets import PairPolicy  # noqa: E402

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "decision_every": 50}
FORMS = {"obs": "pairs", "action_format": "pairs"}
TINY = {"n_steps": 32, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"}
KINDS = [(PPO, PairActorCriticPolicy), (sb3_contrib.MaskablePPO, MaskablePairActorCriticPolicy)]


@pytest.mark.parametrize(("kind", "policy"), KINDS)
def test_it_learns_with_the_weights_of_a_pair_policy_and_without_one_illegal_launch(kind, policy):
    env = MaskableVecEnv(2, **FORMS, **GAME)
    model = kind(policy, env, policy_kwargs={"size": "small"}, **TINY)
    before = {name: values.clone() for name, values in model.policy.network.state_dict().items()}
    model.learn(512)
    after = model.policy.network.state_dict()
    assert isinstance(model.policy.network, PairPolicy)
    assert all(not torch.equal(before[name], after[name]) for name in ("score.weight", "value.2.weight"))
    learned = sum(values.numel() for values in model.policy.parameters())
    assert learned == sum(values.numel() for values in PairPolicy("small").parameters())
    assert (model.rollout_buffer.actions > 0).sum() > 20
    assert env.vec.game.state.illegal.sum() == 0


@pytest.mark.parametrize(("kind", "policy"), KINDS)
def test_masks_read_from_the_observation_are_those_of_the_environment(kind, policy):
    seats = ["agent", "agent", "metronome", "metronome"]
    env = MaskableVecEnv(8, num_candidates=3, seats=seats, **FORMS, **GAME | {"max_ticks": 1500})
    model, rng = kind(policy, env, **TINY), np.random.default_rng(0)
    env.seed(1)
    seen, checked, died = env.reset(), 0, 0
    for _ in range(40):
        masks = env.action_masks()
        tensors = {name: torch.as_tensor(array).float() for name, array in seen.items()}
        logits, _ = model.policy.mlp_extractor(tensors)
        assert np.array_equal(logits.detach().numpy() > -1e8, masks == 1)
        checked += masks[:, 1:].sum()
        died += (env.vec.game.state.alive[:, 1:3] == 0).sum()
        seen, *_ = env.step(np.where(masks == 1, rng.random(masks.shape), -1).argmax(1))
    assert checked > 1000
    assert died > 10


@pytest.mark.parametrize(("kind", "policy"), KINDS)
def test_a_saved_model_is_the_same_policy(kind, policy, tmp_path):
    env = MaskableVecEnv(2, **FORMS, **GAME)
    model = kind(policy, env, policy_kwargs={"size": "small"}, **TINY)
    model.save(tmp_path / "model.zip")
    model.policy.save(tmp_path / "policy.zip")
    env.seed(3)
    seen = env.reset()
    wanted = model.predict(seen, deterministic=True)[0]
    for again in (kind.load(tmp_path / "model.zip", device="cpu"), policy.load(tmp_path / "policy.zip")):
        assert np.array_equal(again.predict(seen, deterministic=True)[0], wanted)


@pytest.mark.parametrize(("kind", "policy"), KINDS)
def test_the_best_action_is_the_best_target_even_where_holding_is_the_likeliest_action(kind, policy):
    env = MaskableVecEnv(2, **FORMS, **GAME)
    model = kind(policy, env, **TINY)
    network = model.policy.network
    with torch.no_grad():  # a target is likelier than holding, and each of its fractions is not
        for values in (*network.score.parameters(), *network.hold.parameters()):
            values.zero_()
        network.score.bias[0], network.score.bias[1 + 6] = 0.5, 0.1
    env.seed(1)
    seen = env.reset()
    assert model.predict(seen, deterministic=True)[0].tolist() == [1 + 6] * 8
    masks = {"action_masks": np.eye(1, 81)} if kind is not PPO else {}
    held = model.predict({name: array[:1] for name, array in seen.items()}, deterministic=True, **masks)[0]
    assert held.tolist() == [0 if masks else 1 + 6]


@pytest.mark.parametrize(
    ("forms", "options", "error", "message"),
    [
        ({"obs": "features"}, {}, ValueError, r'the observation space is Box.*that of obs="pairs"'),
        ({"action_format": "pairs_multi_discrete"}, {}, ValueError, r'that of action_format="pairs"'),
        ({"action_format": "discrete"}, {}, ValueError, r'action space is Discrete\(51\).*format="pairs"'),
        ({}, {"size": "large"}, ValueError, "size is 'large'"),
        ({}, {"net_arch": [64]}, TypeError, r"argument 'net_arch'; it takes size, optimizer_class"),
    ],
)
def test_what_cannot_be_is_refused(forms, options, error, message):
    env = MaskableVecEnv(1, **FORMS | forms, **GAME)
    for kind, policy in KINDS:
        with pytest.raises(error, match=message):
            kind(policy, env, policy_kwargs=options, **TINY)
