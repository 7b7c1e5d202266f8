"""Small games, a store with snapshots, and algorithms that fit into a test."""

import copy
import os
import subprocess
import sys
import time
from unittest.mock import patch

import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.modules.board import BoardModule, settings_of
from territorial import GameConfig
from territorial.league import Group, LineUpDistribution, SnapshotStore
from territorial.nets.board_policy import ReferenceTrunk
from tests.torch.support import MeanTrunk

CONFIG = GameConfig(height=32, width=32, num_players=6, max_ticks=400)


def league(*names):
    """Two who learn, three of ``names`` and a bot."""
    others = dict.fromkeys(names, 1)  # bots in Python are given themselves
    groups = [Group(2, {"trainable:main": 1}), Group(3, others), Group(1, {"bot:metronome": 1})]
    return LineUpDistribution(groups)


LEAGUE = league("snapshot:first", "snapshot:second", "bot:banker")


class SmallModule(BoardModule):
    """A policy of some hundred parameters."""

    @classmethod
    def make_trunk(cls, layout, config, **settings):
        return MeanTrunk(layout, config, **settings)


class BigModule(BoardModule):
    """Another architecture."""

    @classmethod
    def make_trunk(cls, layout, config, **settings):
        return ReferenceTrunk(layout, config, **settings)


def env_config(**changes):
    """The configuration of a small league."""
    return {"config": CONFIG, "league": LEAGUE, "frames": 2, **changes}


def fill(path, *, is_sure=False, **changes):
    """A store with the snapshots that ``env_config`` draws, of two architectures.

    ``is_sure``: they take neutral land wherever they may, so that no rounding changes what they choose.
    """
    store, settings = SnapshotStore(path), settings_of(env_config(**changes))
    for name, module in (("first", SmallModule), ("second", BigModule)):
        weights = {k: v.detach().numpy() for k, v in module.make_policy(settings).state_dict().items()}
        if is_sure:
            weights["policy_head.bias"][[1, -1]] = 1000
        store.add(name, weights, module.manifest(settings))
    return store


def env_vars():
    """What processes of Ray need to find the project where this one does."""
    return {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}


def started(*arguments, **kwargs):
    """A process of Python with these arguments, which may have a Ray of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | env_vars()
    command = [sys.executable, "-W", "ignore", *arguments]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, **kwargs)


def finish(process, code=0):
    """What a process says, which ends with this exit code."""
    _, text = process.communicate(timeout=600)
    assert process.returncode == code, text
    return text


def wait_for(condition, process):
    """Wait until something is so, while a process runs."""
    until = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.002)


def train_on(algorithm):
    """Train until an error ends it: an iteration ends without games where processes are slow."""
    for _ in range(100):
        algorithm.train()


# Ray gives up on its own processes after half a minute, which is too soon on a busy machine.
ATTEMPTS = 10
PLAIN = {"RAY_DEDUP_LOGS": "1", "RAY_worker_niceness": "0"}


def start_ray(num_cpus=6):
    """Ray in as little memory as it does with, and with the priority of this process."""
    for left in reversed(range(ATTEMPTS)):
        try:
            with patch.dict(os.environ, PLAIN | os.environ | env_vars()):  # also of processes started ahead
                ray.init(
                    address="local",  # whatever other clusters there may be
                    num_cpus=num_cpus,
                    object_store_memory=150_000_000,
                    include_dashboard=False,
                    log_to_driver=False,
                )
            return
        except Exception:
            ray.shutdown()
            if not left:
                raise


def ppo(env, steps=12, games=2, minibatch=8, **settings):
    """PPO over some games in this process, of each of which an iteration has so many steps."""
    config = configure(PPOConfig(), env, **settings)
    config.env_runners(num_env_runners=0, rollout_fragment_length=steps, num_envs_per_env_runner=games)
    return config.training(train_batch_size_per_learner=steps * games, minibatch_size=minibatch, num_epochs=1)


def small_config(store, env=None, **settings):
    """PPO of ``SmallModule``; ``env``: changes of ``env_config``."""
    settings |= {"store": store, "module": SmallModule, "architectures": [BigModule]}
    return ppo(env_config(**(env or {})), **settings)


def legal_action(mask, rng):
    """A legal action of one number, or of two parts, for its flat mask."""
    if len(mask) % 10 == 1:
        return rng.choice(np.flatnonzero(mask))
    return np.array([rng.choice(np.flatnonzero(mask[:-10])), rng.integers(10)])


def runner_of(config):
    """A runner of an algorithm that would be configured so, in this process."""
    return config.env_runner_cls(config=config, worker_index=0, num_workers=0)


def trained(algorithm):
    """Train for an iteration; return the result, and which modules have other weights then."""
    before = copy.deepcopy(algorithm.learner_group.get_weights())
    result = algorithm.train()
    after = algorithm.learner_group.get_weights()
    return result, {
        name for name in before if any((part != after[name][key]).any() for key, part in before[name].items())
    }
