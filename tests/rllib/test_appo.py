"""Asynchronous PPO: leagues of boards and of pairs, its target network, and what it cannot be given."""

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest
import ray
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from rllib_adapters import configure, configure_league
from rllib_adapters.league.callback import league_in
from rllib_adapters.league.control import give_weights, weights_of
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.policy_module import TARGET
from territorial import GameConfig
from territorial.observation.layout import ObsLayout
from tests.rllib.support import CONFIG, SmallModule, env_config
from tests.rllib.test_league import small_league
from tests.rllib.test_restores import sample_and_report

# Entries of the environment, and options of ``configure_league``.
ENVS = {
    "boards": ({"frames": 2}, {"module": SmallModule}),
    "pairs": ({"obs": "pairs", "action_format": "pairs_multi_discrete"}, {"size": "small"}),
}


def build(store, runner, kind, num_env_runners=0, **training):
    """An APPO that learns in this process, with a league that freezes a copy in every iteration."""
    env, options = ENVS[kind]
    env = {"config": CONFIG, "max_cycles": 12, **env}
    config = configure_league(APPOConfig(), env, small_league(), str(store), runner=runner, **options)
    config.env_runners(num_env_runners=num_env_runners, num_envs_per_env_runner=2)
    config.env_runners(rollout_fragment_length=12)
    config.training(train_batch_size_per_learner=24, use_kl_loss=True, **training)
    config.training(circular_buffer_iterations_per_batch=1)  # so that nothing is learned between iterations
    config.learners(num_learners=0)
    config.reporting(min_time_s_per_iteration=0, min_train_timesteps_per_iteration=24)
    return config.build_algo()


def state_of(algorithm):
    """The arrays of the learner's module: of the network, and of its target."""
    state = algorithm.learner_group._learner.module["main"].get_state()
    own, target = (
        {key.removeprefix(start): part for key, part in state.items() if key.startswith(start)}
        for start in ("policy.", f"{TARGET}.")
    )
    assert own.keys() == target.keys()
    assert len(own) + len(target) == len(state)
    return own, target


def is_same(first, second):
    return all((first[name] == second[name]).all() for name in first)


@pytest.mark.usefixtures("running_ray")
@pytest.mark.parametrize(
    ("runner", "kind"), [("batched", "boards"), pytest.param("stock", "pairs", marks=pytest.mark.verify)]
)
def test_a_league_learns_freezes_and_resumes(ends, tmp_path, runner, kind):
    algorithm = ends(build(tmp_path / "store", runner, kind, target_network_update_freq=1000))
    first, target = state_of(algorithm)
    assert is_same(first, target)
    results = [algorithm.train() for _ in range(3)]
    found = results[-1]["learners"]["main"]
    names = ("total_loss", "policy_loss", "vf_loss", "entropy", "mean_kl_loss", "curr_kl_coeff")
    assert np.isfinite([found[name] for name in names]).all()
    assert found["num_module_steps_trained_lifetime"] > 0
    now, target = state_of(algorithm)
    assert is_same(first, target), "it is brought up to date now and then"
    assert not is_same(first, now)
    assert not any(key.startswith(TARGET) for key in algorithm.env_runner.module["main"].get_state())
    league, store = league_in(algorithm), algorithm.league_callback.store
    assert store.names() == [f"main-{i}" for i in range(4)]
    assert league.num_games > 0
    assert is_same(dict(store.load("main-3").items()), weights_of(algorithm, "main"))
    path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    kept = state_of(algorithm)
    algorithm.stop()
    restored = ends(Algorithm.from_checkpoint(path))
    np.testing.assert_equal(state_of(restored), kept)
    restored.train()
    assert "main-4" in league_in(restored).snapshots
    give_weights(restored, "main", restored.league_callback.store.load("main-0"))
    for state in state_of(restored):  # the target of another network would be none
        np.testing.assert_equal(state, first)


@pytest.mark.skipif(not hasattr(APPOConfig(), "use_env_runner_state_server"), reason="needs Ray 2.57")
@pytest.mark.parametrize("runner", ["batched", pytest.param("stock", marks=pytest.mark.verify)])
def test_runners_fetch_weights_that_are_pushed_but_none_older_than_those_given(ends, tmp_path, runner):
    algorithm = ends(build(tmp_path / "store", runner, "boards", num_env_runners=1))
    group, server = algorithm.env_runner_group, algorithm._env_runner_state_server
    for _ in range(8):
        algorithm.train()
    pushed = ray.get(server.pull.remote())
    weights = ray.get(pushed["rl_module"])["main"]
    ray.get(server.push.remote({**pushed, "weights_seq_no": 10**5}))
    np.testing.assert_equal(group.foreach_env_runner(sample_and_report, local_env_runner=False), [weights])
    ray.get(server.push.remote({**pushed, "weights_seq_no": 10**6}))
    given = algorithm.league_callback.store.load("main-0")
    give_weights(algorithm, "main", given)
    (acting,) = group.foreach_env_runner(sample_and_report, local_env_runner=False)
    np.testing.assert_equal(acting, {f"policy.{name}": part for name, part in given.items()})


def is_held(lock):
    """Whether another thread would have to wait for a lock."""
    with ThreadPoolExecutor(1) as other:
        is_free = other.submit(lock.acquire, blocking=False).result()
        if is_free:
            other.submit(lock.release).result()
    return not is_free


def check_states(learner):
    """No update falls into the middle of a state, and none after it changes it."""
    module, held = learner.module["main"], []
    bias = module.policy.policy_head.bias

    def while_reading(*args, **kwargs):
        held.append(is_held(learner.changing))
        return type(module).get_state(module, *args, **kwargs)

    def step(*_):
        held.append(is_held(learner.changing))
        bias.data.add_(1)

    with (
        mock.patch.object(module, "get_state", while_reading),
        mock.patch.object(TorchLearner, "apply_gradients", step),
    ):
        before = bias.detach().clone()
        state = learner.get_state(components="rl_module/main")["rl_module"]["main"]
        learner.apply_gradients({})
    assert held == [True, True]
    assert (bias == before + 1).all()
    np.testing.assert_array_equal(state["policy.policy_head.bias"], before)


@pytest.mark.usefixtures("running_ray")
def test_targets_follow_and_batches_that_wait_keep_their_frames(ends, tmp_path):
    algorithm = ends(build(tmp_path, "batched", "boards", target_network_update_freq=0.01, tau=1.0))
    for _ in range(3):
        result = algorithm.train()
    assert result["learners"]["main"]["num_target_updates"] >= 1
    now, target = state_of(algorithm)
    assert is_same(now, target)
    learner = algorithm.learner_group._learner
    batches = [
        learner._make_batch_if_necessary(TrainingData(episodes=algorithm.env_runner.sample()))
        for _ in range(2)
    ]
    banks = [batch.frames["main"] for batch in batches]
    assert banks[0] is not banks[1]
    for i in (0, 1, 0):  # as the buffer draws them
        learner._make_batch_if_necessary(TrainingData(batch=batches[i]))
        assert learner.module["main"].frames is banks[i]
    thread = learner._learner_thread
    algorithm.stop()
    thread.join(timeout=300)
    assert not thread.is_alive()
    check_states(learner)  # now that nothing else changes it


def test_a_target_plays_the_games_of_its_network():
    settings = settings_of(env_config())
    module = SmallModule(model_config=settings)
    module.make_target_networks()
    config = settings["config"].replace(max_ticks=77)
    module.set_game(ObsLayout.from_dict(settings["layout"]), config)
    assert [network.config for network in (module.policy, module.target_policy)] == [config] * 2


class NoTarget(TorchRLModule):
    """A module of the user's own for pairs and other actions."""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"module": NoTarget},
            "the module of 'main' is a NoTarget, which has no target network; with APPO it must be a Tar",
        ),
        (
            {"broadcast_interval": 17},
            "broadcast_interval is 17; it must be at most 16, which is circular_buf",
        ),
        ({"minibatch_size": 7}, "minibatch_size is 7; with IMPALA and APPO it must be a multiple of"),
    ],
)
def test_what_it_cannot_be_given_is_an_error_when_it_is_built(settings, message):
    env = {"config": GameConfig(height=24, width=24, num_players=4), "obs": "pairs"}
    config = configure(APPOConfig(), env, module=settings.pop("module", None))
    config.env_runners(rollout_fragment_length=10).training(**settings)
    with pytest.raises(ValueError, match=message):
        config.validate()


@pytest.mark.verify
@pytest.mark.usefixtures("running_ray")
@pytest.mark.slow  # how far the learner's thread falls behind depends on what else runs
def test_it_learns_to_leave_novices_behind(ends):
    """Two agents and two novices: the best mean place of the two is 1.5, and they begin above 1.7."""
    seats, game = ["agent", "agent", "novice", "novice"], GameConfig(height=32, width=32, num_players=4)
    env = {"config": game.replace(max_ticks=1500, num_maps=8), "seats": seats, "obs": "pairs", "repeat": 5}
    config = configure(APPOConfig(), env, runner="batched", size="small")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=16, rollout_fragment_length=16)
    config.learners(num_learners=0)
    config.training(train_batch_size_per_learner=256, lr=2e-3, grad_clip=1.0, entropy_coeff=0.003)
    config.training(circular_buffer_num_batches=4, target_network_update_freq=1, gamma=0.98)
    config.reporting(min_time_s_per_iteration=0, min_train_timesteps_per_iteration=2048)
    config.debugging(seed=0)
    algorithm = ends(config.build_algo())
    first = place = algorithm.train()["env_runners"]["place"]
    for _ in range(200):  # some 40 do where nothing else runs; the learner's thread falls behind elsewhere
        if place < 1.58:
            break
        place = algorithm.train()["env_runners"]["place"]
    assert place < 1.58 < 1.65 < first
