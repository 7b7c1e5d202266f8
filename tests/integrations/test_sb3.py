"""Stable-Baselines3 and sb3-contrib, for real and with tiny numbers."""

import copy

import numpy as np
import pytest

from tests.episodes import begun

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
sb3_contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")

import torch  # noqa: E402 - only where they are installed
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor  # noqa: E402

from territorial.decode.numpy import Decoder  # noqa: E402
from territorial.envs.sb3 import MaskableVecEnv  # noqa: E402
from territorial.nets import PairPolicy  # noqa: E402
from territorial.nets.sb3_boards import BoardExtractor, board_policy  # noqa: E402
from territorial.nets.sb3_pairs import (  # noqa: E402
    MaskablePairActorCriticPolicy,
    PairActorCriticPolicy,
)

SMALL = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400}
TINY = {"n_steps": 64, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"}


class Illegal(BaseCallback):
    """Counts launches that were not legal, and games that ended."""

    count = ended = 0

    def _on_step(self):
        ends = [info for info in self.locals["infos"] if "terminal_observation" in info]
        self.ended += len(ends)
        self.count += sum(info["illegal"] for info in ends)
        return True


@pytest.mark.parametrize(
    ("obs", "action_format"), [("features", "multi_discrete"), ("pairs", "pairs_multi_discrete")]
)
def test_maskable_ppo_trains_without_one_illegal_launch(obs, action_format):
    env, watch = MaskableVecEnv(2, obs=obs, action_format=action_format, **SMALL), Illegal()
    policy = "MultiInputPolicy" if obs == "pairs" else "MlpPolicy"
    sb3_contrib.MaskablePPO(policy, VecMonitor(env), **TINY).learn(1024, callback=watch)
    assert watch.ended >= 8
    assert (watch.count, env.vec.game.state.illegal.sum()) == (0, 0)


def test_plain_ppo_trains_and_its_illegal_launches_are_counted():
    watch = Illegal()
    PPO("MlpPolicy", MaskableVecEnv(2, **SMALL), **TINY).learn(1024, callback=watch)
    assert watch.ended >= 8
    assert watch.count > 0


def test_a_policy_decodes_packed_boards_within_and_can_be_saved(tmp_path):
    env, watch = MaskableVecEnv(2, obs="packed", frames=2, **SMALL), Illegal()
    model = sb3_contrib.MaskablePPO("MultiInputPolicy", env, policy_kwargs=board_policy(env), **TINY)
    model.learn(1024, callback=watch)
    assert watch.ended >= 8
    assert watch.count == 0
    assert model.rollout_buffer.observations["observation"].dtype == np.uint8, "bits, not planes"
    model.save(tmp_path / "model.zip")
    again = sb3_contrib.MaskablePPO.load(tmp_path / "model.zip", env=env, device="cpu")
    env.seed(3)
    seen, masks = env.reset(), env.action_masks()
    one, two = (m.predict(seen, action_masks=masks, deterministic=True)[0] for m in (model, again))
    assert np.array_equal(one, two)


def test_a_copy_has_games_of_its_own():
    env = begun(MaskableVecEnv(2, **SMALL))
    copy.copy(env).step(np.zeros(env.num_envs, int))
    assert not env.vec.game.state.tick.any()


def test_what_the_extractor_sees_is_what_the_numpy_decoder_shows():
    env = MaskableVecEnv(2, obs="packed", frames=2, **SMALL)
    env.seed(5)
    seen = env.reset()
    for _ in range(6):
        seen, *_ = env.step(env.action_masks().argmax(axis=1) + 3)
    extractor = BoardExtractor(
        env.observation_space, **board_policy(env, features_dim=16)["features_extractor_kwargs"]
    )
    shown = {}
    extractor.layers[0].register_forward_hook(lambda layer, given, out: shown.update(given=given[0]))
    extractor({key: torch.as_tensor(array).float() for key, array in seen.items()})
    game, decoder = env.vec.game, Decoder(env.vec.game.layout, env.vec.config)
    games, seats = np.arange(2).repeat(4), np.tile(np.arange(1, 5), 2)
    tables = game.observations
    boards = decoder.pooled(tables.planes, seats, tables.players, tables.borders, games)
    features = decoder.features(tables.players, tables.borders, tables.globals, seats, games)
    wanted = np.concatenate([boards.reshape(8, -1), features], axis=1)
    assert np.array_equal(shown["given"].numpy(), wanted)
    with pytest.raises(ValueError, match="obs is 'features'; boards are decoded"):
        board_policy(MaskableVecEnv(1, **SMALL))


def test_the_last_observation_of_a_game_is_in_the_info():
    env = MaskableVecEnv(2, max_cycles=5, **SMALL)
    env.seed(1)
    env.reset()
    for _ in range(5):
        seen, _, dones, infos = env.step(np.zeros(8, int))
    assert dones.all()
    assert all(info["TimeLimit.truncated"] for info in infos)
    assert all(not np.array_equal(info["terminal_observation"], seen[i]) for i, info in enumerate(infos))
    assert {info["tick"] for info in infos} == {50}
    assert all(env.observation_space.contains(info["terminal_observation"]) for info in infos)


def test_what_single_environments_are_asked_for():
    env = begun(MaskableVecEnv(2, **SMALL))
    assert env.has_attr("action_masks")
    assert len(env.env_method("action_masks", indices=[0, 5])) == 2
    assert np.array_equal(env.env_method("action_masks", indices=5)[0], env.action_masks()[5])
    with pytest.raises(AttributeError, match="no method 'fly'; they have 'action_masks'"):
        env.env_method("fly")
    with pytest.raises(AttributeError, match="speed cannot be set"):
        env.set_attr("speed", 3)


# ---- a policy that is a PairPolicy ---------------------------------------------------------------------

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "decision_every": 50}
FORMS = {"obs": "pairs", "action_format": "pairs"}
SHORT = {"n_steps": 32, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"}
KINDS = [(PPO, PairActorCriticPolicy), (sb3_contrib.MaskablePPO, MaskablePairActorCriticPolicy)]


@pytest.mark.parametrize(("kind", "policy"), KINDS)
def test_it_learns_with_the_weights_of_a_pair_policy_and_without_one_illegal_launch(kind, policy):
    env = MaskableVecEnv(2, **FORMS, **GAME)
    model = kind(policy, env, policy_kwargs={"size": "small"}, **SHORT)
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
    env = MaskableVecEnv(
        8,
        num_candidates=3,
        seats=["agent", "agent", "metronome", "metronome"],
        **FORMS,
        **GAME | {"max_ticks": 1500},
    )
    model, rng = kind(policy, env, **SHORT), np.random.default_rng(0)
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
    model = kind(policy, env, policy_kwargs={"size": "small"}, **SHORT)
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
    model = kind(policy, env, **SHORT)
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
            kind(policy, env, policy_kwargs=options, **SHORT)
