"""Stable-Baselines3 and sb3-contrib, for real and with tiny numbers."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
sb3_contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")

from stable_baselines3 import PPO  # noqa: E402 - only where they are installed
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor  # noqa: E402

from territorial.integrations.sb3 import MaskableVecEnv  # noqa: E402

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


@pytest.mark.parametrize("action_format", ["discrete", "multi_discrete"])
def test_maskable_ppo_trains_without_one_illegal_launch(action_format):
    env = MaskableVecEnv(2, action_format=action_format, **SMALL)
    watch = Illegal()
    model = sb3_contrib.MaskablePPO("MlpPolicy", VecMonitor(env), **TINY)
    model.learn(1024, callback=watch)
    assert watch.ended >= 8
    assert watch.count == 0
    assert env.vec.game.state.illegal.sum() == 0


def test_plain_ppo_trains_and_its_illegal_launches_are_counted():
    watch = Illegal()
    PPO("MlpPolicy", MaskableVecEnv(2, **SMALL), **TINY).learn(1024, callback=watch)
    assert watch.ended >= 8
    assert watch.count > 0


def test_boards_and_tables_are_a_dict_for_policies_of_many_inputs():
    env = MaskableVecEnv(1, obs="packed", frames=1, **SMALL)
    env.seed(3)
    seen = env.reset()
    assert env.observation_space.contains({key: array[0] for key, array in seen.items()})
    assert seen["observation"].shape[0] == env.num_envs == 4
    assert seen["seat"].ravel().tolist() == [1, 2, 3, 4]


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
    env = MaskableVecEnv(2, **SMALL)
    env.reset()
    assert env.has_attr("action_masks")
    assert len(env.env_method("action_masks", indices=[0, 5])) == 2
    assert np.array_equal(env.env_method("action_masks", indices=5)[0], env.action_masks()[5])
    with pytest.raises(AttributeError, match="no method 'fly'; they have 'action_masks'"):
        env.env_method("fly")
    with pytest.raises(AttributeError, match="speed cannot be set"):
        env.set_attr("speed", 3)
