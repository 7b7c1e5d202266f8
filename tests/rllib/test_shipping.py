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
from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.envs.spaces import SHARED
from rllib_adapters.observations.frame_bank import FRAME, FrameBank
from rllib_adapters.observations.lazy_buffer import SharedObservations
from territorial import GameConfig
from tests.rllib.support import SmallModule, fill, small_config

pytestmark = pytest.mark.release

FULL = GameConfig()
GOAL = 24_000


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
        agent_steps = sum(len(own) for episode in episodes for own in episode.agent_episodes.values())
        seen += agent_steps
        a_step = (len(data) + sum(map(len, buffers))) / steps
        assert a_step < (GOAL if seats == "all" else 14_000), a_step
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
            assert seen.keys() == other.keys()
            for name, array in seen.items():
                np.testing.assert_array_equal(array, other[name])
                assert array.dtype == other[name].dtype
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
    bank = module.unwrapped().frames
    assert isinstance(bank, FrameBank)
    rows = batch[Columns.OBS]
    some = {name: column[:7] for name, column in rows.items()}
    taken = module.unwrapped().with_frames(some)
    distinct = np.unique(np.asarray(some[FRAME]))
    assert len(taken["observations"]) == len(distinct) <= 7
    # The rows are those of the observations in full.
    at = 0
    for own in owns:
        count = len(own)
        part = {name: column[at : at + count] for name, column in rows.items()}
        seen = module.unwrapped().with_frames(part)
        for t, observation in enumerate(own.get_observations(slice(0, count))):
            for name in ("seat", "action_mask"):
                np.testing.assert_array_equal(seen[name][t], observation[name])
            for name in SHARED:
                np.testing.assert_array_equal(seen[name][int(seen[FRAME][t])], observation[name])
        at += count
    assert at == len(rows["seat"])


def test_values_are_computed_frame_by_frame_and_without_gradients(small_runner):
    episodes = arrived(small_runner.sample())
    learner = small_runner.config.build_learner(env=small_runner.env)
    taken, module = [], learner.module[MAIN].unwrapped()
    take = FrameBank.take
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            FrameBank, "take", lambda self, numbers: taken.append(len(numbers)) or take(self, numbers)
        )
        batch = learner._learner_connector(
            rl_module=learner.module, batch={}, episodes=episodes, shared_data={}, metrics=learner.metrics
        )[MAIN]
    rows = len(batch[Columns.OBS]["seat"])
    distinct = len(np.unique(np.asarray(batch[Columns.OBS][FRAME])))
    assert len(taken) == -(-rows // module.value_chunk)
    assert sum(taken) <= distinct + len(taken)
    values = module.compute_values(batch)
    assert not values.requires_grad
    at_once = module.policy(module.with_frames(batch[Columns.OBS]))[1]
    torch.testing.assert_close(values, module.policy.values(at_once).detach(), rtol=1e-4, atol=1e-4)


def test_a_new_position_between_samples_is_taken_up():
    runner = make_runner(GameConfig(height=32, width=32, num_players=6), steps=5)
    runner.sample()
    game = runner.env.game
    owner = game.state.owner[0, 1:-1, 1:-1].copy()
    owner[owner == 3] = 4
    game.set_position(0, owner, peak=[1000] * 6)
    runner.sample()
    for episode in arrived(runner.sample()):
        for own in episode.agent_episodes.values():
            last = own.get_observations(-1)["observations"][0]
        k = own.observations.game
        np.testing.assert_array_equal(last, game.observations.planes[k, 0])


def test_a_runner_uses_the_processors_that_it_was_given(tmp_path):
    before = torch.get_num_threads()
    config = small_config(fill(tmp_path), runner="batched")
    config.env_runners(num_env_runners=1, num_cpus_per_env_runner=3)
    try:
        runner = config.env_runner_cls(config=config, worker_index=1, num_workers=1)
        assert torch.get_num_threads() == 3
        assert runner.env.game.num_threads == 3
        runner.sample()
        config = small_config(fill(tmp_path / "other"), runner="batched")
        torch.set_num_threads(2)
        runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
        assert torch.get_num_threads() == 2
        assert runner.env.game.num_threads == 1
    finally:
        torch.set_num_threads(before)
