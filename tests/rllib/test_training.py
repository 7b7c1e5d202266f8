"""Whole iterations of PPO with a league: what learns, what is shipped, on how many learners."""

import pickle

import numpy as np
import pytest

from rllib_adapters import configure, freeze, set_league
from rllib_adapters.envs.agent_names import MAIN, POOL
from rllib_adapters.envs.spaces import SHARED
from rllib_adapters.learning import learners
from rllib_adapters.sampling import runner, stock_runner
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


@pytest.mark.parametrize(("kind", "module"), [("batched", runner), ("stock", stock_runner)])
def test_an_iteration_gives_back_after_sampling_and_after_learning(kind, module, tmp_path, monkeypatch):
    given_back = []
    for place in (module, learners):
        monkeypatch.setattr(place, "give_back", lambda name=place.__name__: given_back.append(name))
    algorithm = small_config(fill(tmp_path), runner=kind).build_algo()
    for _ in range(2):
        algorithm.train()
    algorithm.stop()
    assert given_back == [module.__name__, learners.__name__] * 2
