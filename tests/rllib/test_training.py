"""Whole iterations of PPO with a league: what learns, what is shipped, on how many learners."""

import pickle

import numpy as np
import pytest

from rllib_adapters.configuration import configure
from rllib_adapters.envs.agent_names import MAIN, POOL
from rllib_adapters.envs.spaces import SHARED
from rllib_adapters.league.control import freeze, set_league
from rllib_adapters.observations.connector import ModuleFrames
from tests.rllib.support import BigModule, env_config, fill, league, small_config

pytestmark = [pytest.mark.release, pytest.mark.usefixtures("running_ray")]


@pytest.fixture
def store(tmp_path):
    return fill(tmp_path / "store")


def weights_of(algorithm):
    return algorithm.learner_group.get_weights([MAIN])[MAIN]


def test_it_learns_in_this_process_and_only_what_is_to_learn(ends, store):
    algorithm = ends(small_config(store).build_algo())
    before = {name: array.copy() for name, array in weights_of(algorithm).items()}
    result = algorithm.train()
    after = weights_of(algorithm)
    assert any((before[name] != after[name]).any() for name in before)
    trained = result["learners"]
    assert trained[MAIN]["num_module_steps_trained"] > 0
    assert "num_module_steps_trained" not in trained[POOL]
    assert np.isfinite(trained[MAIN]["total_loss"])
    learner = algorithm.learner_group._learner
    assert not any(POOL in name for name in learner._named_optimizers)


@pytest.mark.verify  # on two learners: test_algorithms.py
@pytest.mark.parametrize(("learners", "runners"), [(1, 1), (2, 2)])
def test_it_learns_on_learners_and_runners_of_their_own(ends, store, learners, runners):
    config = small_config(store)
    config.learners(num_learners=learners)
    config.env_runners(num_env_runners=runners, rollout_fragment_length=12 // runners)
    config.training(train_batch_size_per_learner=24 // learners)
    algorithm = ends(config.build_algo())
    before = {name: array.copy() for name, array in weights_of(algorithm).items()}
    for _ in range(2):
        result = algorithm.train()
    after = weights_of(algorithm)
    assert any((before[name] != after[name]).any() for name in before)
    assert result["learners"][MAIN]["num_module_steps_trained"] > 0
    states = algorithm.learner_group.foreach_learner(lambda learner: learner.module[MAIN].get_state())
    weights = [state.get() for state in states]
    assert len(weights) == learners
    for other in weights:  # all learners have come to the same weights
        for name, array in weights[0].items():
            np.testing.assert_array_equal(array, other[name])
    frames = [
        count.get()
        for count in algorithm.learner_group.foreach_learner(
            lambda learner: len(learner.module["main"].unwrapped().frames["observations"])
        )
    ]
    # Two learning agents saw each of 24 steps, and of every piece of an episode there is one more.
    assert 24 < sum(frames) <= 24 + 3 * learners + 3
    in_runners = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: runner.module["main"].get_state()["policy.value_head.bias"], local_env_runner=False
    )
    assert len(in_runners) == runners
    for bias in in_runners:  # and the runners have been given them
        np.testing.assert_array_equal(bias, weights[0]["policy.value_head.bias"])


def test_runners_ship_every_frame_once_and_nothing_of_frozen_seats(ends, store):
    config = small_config(store)
    config.env_runners(num_env_runners=0)
    algorithm = ends(config.build_algo())
    runner = algorithm.env_runner
    ids, sizes, agents = set(), 0, set()
    for episode in runner.sample():
        agents |= set(episode.agent_episodes)
        for own in episode.agent_episodes.values():
            for seen in own.get_observations():
                sizes += 1
                ids.add(id(seen["observations"]))
    assert agents <= {"player_0", "player_1"}
    assert sizes > 1.5 * len(ids)
    assert isinstance(runner.module[MAIN], ModuleFrames)


def test_what_runners_ship_is_hardly_more_than_its_frames(ends, store):
    config = small_config(store)
    algorithm = ends(config.build_algo())
    episodes = algorithm.env_runner.sample()
    algorithm.stop()
    buffers = []
    shipped = len(pickle.dumps(episodes, protocol=5, buffer_callback=buffers.append))
    shipped += sum(len(buffer.raw()) for buffer in buffers)
    steps = [
        seen
        for episode in episodes
        for own in episode.agent_episodes.values()
        for seen in own.get_observations()
    ]
    frames = {id(seen[name]): seen[name].nbytes for seen in steps for name in SHARED}
    assert sum(frames.values()) < shipped < 1.2 * sum(frames.values()) + 1_500 * len(steps)
    assert shipped < sum(seen[name].nbytes for seen in steps for name in SHARED)


def test_snapshots_are_frozen_and_play(ends, store):
    algorithm = ends(small_config(store).build_algo())
    algorithm.train()
    freeze(algorithm, store, "third", iteration=1)
    assert store.manifest("third").metadata == {"iteration": 1}
    saved = store.load("third")
    for name, array in weights_of(algorithm).items():
        np.testing.assert_array_equal(saved[name.removeprefix("policy.")], array)
    set_league(algorithm, league("snapshot:third"))
    algorithm.env_runner.sample(num_episodes=1)
    pool = algorithm.env_runner.module[POOL]
    assert "third" in {name for name, _ in pool.opponents._open}
    # The learner's pool has never played and so has opened nothing.
    assert not algorithm.learner_group._learner.module[POOL].opponents._open


def test_league_seats_need_a_store():
    from ray.rllib.algorithms.ppo import PPOConfig

    with pytest.raises(ValueError, match="store is None, but the league draws snapshots"):
        configure(PPOConfig(), env_config(), module=BigModule)
