"""What goes from a batched runner to a learner: how many bytes, and that everything comes back."""

import copy
import pickle

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns

from rllib_adapters import configure
from rllib_adapters.envs.agent_interface import SHARED
from rllib_adapters.envs.env_config import MAIN, POOL
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.frozen_pool import pool_settings
from rllib_adapters.observations.connector import FRAME, FrameBank, SharedFrames
from rllib_adapters.observations.log import SharedObservations
from territorial import GameConfig
from tests.rllib.support import SmallModule, env_config, fill, runner_of, small_config

FULL = GameConfig()


def make_runner(config, games=2, steps=64, **env):
    """A batched runner whose seats all learn, and launch often enough for the board to change."""
    algorithm = configure(
        PPOConfig(), {"config": config, **env}, module=SmallModule, runner="batched", hold_probability=0.5
    )
    algorithm.env_runners(num_env_runners=0, num_envs_per_env_runner=games, rollout_fragment_length=steps)
    algorithm.debugging(seed=5)
    return algorithm.env_runner_cls(config=algorithm, worker_index=0, num_workers=0)


@pytest.fixture(scope="module")
def small_runner():
    return make_runner(GameConfig(height=32, width=32, num_players=6), steps=20)


def shipped(episodes):
    """What Ray sends: the pickle and the buffers beside it."""
    buffers = []
    data = pickle.dumps(episodes, protocol=5, buffer_callback=buffers.append)
    return data, [bytes(buffer.raw()) for buffer in buffers]


def arrived(episodes):
    """The episodes as they come out at the other side, on memory that is not to be written to."""
    data, buffers = shipped(episodes)
    return pickle.loads(data, buffers=buffers)


@pytest.mark.parametrize("seats", ["all", "one"])
def test_a_game_step_of_full_size_is_shipped_in_24_kilobytes(seats):
    others = {"seats": ["agent"] + ["metronome"] * 31} if seats == "one" else {}
    runner = make_runner(FULL, **others)
    seen = 0
    for _ in range(3):  # later in the game more of the board changes
        episodes = runner.sample(random_actions=True)  # which no rounding changes
        data, buffers = shipped(episodes)
        steps = sum(len(episode) for episode in episodes)
        assert steps >= 128  # a game that ends has a last one
        seen += sum(len(own) for episode in episodes for own in episode.agent_episodes.values())
        a_step = (len(data) + sum(map(len, buffers))) / steps
        assert a_step < (24_000 if seats == "all" else 14_000), a_step
    assert seen > (3_000 if seats == "all" else 50)


def whole(episodes):
    """All observations as they are looked at, and their places."""
    return [
        (episode.id_, agent, t, seen)
        for episode in episodes
        for agent, own in episode.agent_episodes.items()
        for t, seen in enumerate(own.observations.data)
    ]


@pytest.mark.parametrize("copied", [arrived, copy.deepcopy])
def test_observations_come_out_as_they_went_in(small_runner, copied):
    for _ in range(3):
        episodes = small_runner.sample()
        others = copied(episodes)
        for (*place, seen), (*other_place, other) in zip(whole(episodes), whole(others), strict=True):
            assert place == other_place
            np.testing.assert_equal(seen, other)
            assert [array.dtype for array in seen.values()] == [array.dtype for array in other.values()]
        space = small_runner.env.single_observation_spaces["player_0"]
        assert all(space.contains(seen) for *_, seen in whole(others))
        # What has been looked at, or changed, is shipped as it is.
        again = copied(others)
        np.testing.assert_array_equal(whole(again)[-1][-1]["players"], whole(others)[-1][-1]["players"])


def test_a_learner_never_makes_what_it_was_shipped(small_runner):
    """Advantages and minibatches take frames from the bank, and no observation of an agent is made."""
    episodes = arrived(small_runner.sample())
    learner = small_runner.config.build_learner(env=small_runner.env)
    batch = learner._learner_connector(
        rl_module=learner.module, batch={}, episodes=episodes, shared_data={}, metrics=learner.metrics
    )[MAIN]
    owns = list(ConnectorV2.single_agent_episode_iterator(episodes, agents_that_stepped_only=False))
    assert all(isinstance(own.observations, SharedObservations) for own in owns)
    assert not any(own.observations.is_made for own in owns)
    module = learner.module[MAIN]
    assert isinstance(module.unwrapped().frames, FrameBank)
    rows = batch[Columns.OBS]
    some = {name: column[:7] for name, column in rows.items()}
    taken = module.unwrapped().with_frames(some)
    distinct = np.unique(np.asarray(some[FRAME]))
    assert len(taken["observations"]) == len(distinct) <= 7
    # The rows are those of the observations in full.
    at = 0
    for own in owns:
        part = {name: column[at : at + len(own)] for name, column in rows.items()}
        seen = module.unwrapped().with_frames(part)
        for t, observation in enumerate(own.get_observations(slice(0, len(own)))):
            for name in ("seat", "action_mask", *SHARED):
                row = int(seen[FRAME][t]) if name in SHARED else t
                np.testing.assert_array_equal(seen[name][row], observation[name])
        at += len(own)
    assert at == len(rows["seat"])


def test_a_runner_uses_the_processors_that_it_was_given(tmp_path):
    config = small_config(fill(tmp_path), runner="batched")
    config.env_runners(num_env_runners=1, num_cpus_per_env_runner=3)
    runner = config.env_runner_cls(config=config, worker_index=1, num_workers=1)
    assert torch.get_num_threads() == runner.env.game.num_threads == 3
    runner.sample()
    config = small_config(fill(tmp_path / "other"), runner="batched")
    torch.set_num_threads(2)
    runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    assert (torch.get_num_threads(), runner.env.game.num_threads) == (2, 1)


@pytest.fixture
def stock(tmp_path):
    """RLlib's own runner, whose episodes have lists."""
    return runner_of(small_config(fill(tmp_path), value_chunk=3))


@pytest.fixture
def modules(stock):
    """The two modules of a league."""
    return stock.module


def stacked(rows):
    return {name: torch.from_numpy(np.stack([row[name] for row in rows])) for name in rows[0]}


def test_modules_give_the_same_for_frames_once_as_for_whole_observations(stock, modules):
    episode, *_ = stock.sample()
    learner = SharedFrames(as_learner_connector=True)
    batch = learner(rl_module=modules, batch={}, episodes=[episode], explore=False, shared_data={})
    frames = modules[MAIN].frames
    assert {len(array) for array in frames.values()} == {len(episode)}, "each is stacked once"
    assert modules[POOL].frames is frames
    for agent in ("player_0", "player_1"):
        once = {Columns.OBS: stacked(batch[Columns.OBS][episode.id_, agent, MAIN])}
        whole = {Columns.OBS: stacked(episode.agent_episodes[agent].get_observations(slice(0, len(episode))))}
        module = modules[MAIN]
        for method in (module.forward_train, module.forward_inference):
            first, second = method(once), method(whole)
            for column, tensor in first.items():
                torch.testing.assert_close(tensor, second[column], rtol=1e-4, atol=1e-4)
        acts = module.forward_exploration(once) | module.forward_inference(once)
        assert not any(part.requires_grad for part in acts.values())
        in_chunks = module.compute_values(once)
        embedding = module.forward_train(whole)[Columns.EMBEDDINGS]
        at_once = module.compute_values(whole, embeddings=embedding)
        assert (in_chunks.requires_grad, at_once.requires_grad) == (False, True)
        torch.testing.assert_close(in_chunks, at_once.detach(), rtol=1e-4, atol=1e-4)


def test_the_pool_has_nothing_to_train_to_save_or_to_ship(modules):
    pool = modules[POOL]
    assert pool.get_state() == {}
    assert not isinstance(pool, torch.nn.Module)
    assert not pool.opponents._open  # nothing is opened before it acts
    pool.set_state({"whatever": 1})
    with pytest.raises(NotImplementedError, match="cannot be trained"):
        pool.forward_train({})


def test_what_does_not_fit_says_what_to_do(stock, modules):
    (episode, other), learner = stock.sample(), SharedFrames(as_learner_connector=True)
    arguments = {"batch": {}, "explore": False, "shared_data": {}}
    with pytest.raises(ValueError, match=r"set config.env_runners\(episodes_to_numpy=False\)"):
        learner(rl_module=modules, episodes=[other.to_numpy()], **arguments)
    modules[MAIN].frames = None
    row = {FRAME: torch.zeros(1, 1, dtype=torch.int64)}
    with pytest.raises(RuntimeError, match="the connector pipeline that made them must contain SharedFrames"):
        modules[MAIN].forward_train({Columns.OBS: row})
    modules._rl_modules[MAIN] = torch.nn.Linear(1, 1)
    modules[MAIN].unwrapped = lambda: modules[MAIN]
    with pytest.raises(TypeError, match="the module 'main' is a Linear, which cannot read shared frames"):
        learner(rl_module=modules, episodes=[episode], **arguments)
    with pytest.raises(ValueError, match="the model_config of SmallModule has no 'layout'"):
        SmallModule.make_policy({})
    with pytest.raises(TypeError, match="it must be a subclass of BoardModule"):
        pool_settings(settings_of(env_config()), "x", [torch.nn.Linear])
