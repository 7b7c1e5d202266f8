"""A runner that Ray restarts goes on with the present games and table, whose snapshots the engine plays."""

import os
import signal
import time

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure, set_league
from rllib_adapters.envs.agent_names import MAIN, POOL
from rllib_adapters.league.curriculum import set_env
from territorial.league import SnapshotStore
from tests.rllib.leagues import add, entries, in_engine, network_called, table
from tests.rllib.support import CONFIG

pytestmark = pytest.mark.release

OTHER_GAMES = CONFIG.replace(map="islands", win_percent=60)
PATIENCE = 300
"""Seconds after which it hangs."""


def told(runner):
    """Of a runner: its process, games and tables, the snapshots in the engine, and those in the pool."""
    return {
        "pid": os.getpid(),
        "games": runner.env.game.config,
        "tables": {view.league.to_json() for view in runner.env.envs},
        "in_engine": {name for k in range(len(runner.env.envs)) for name in in_engine(runner.env.game, k)},
        "in_pool": {name for view in runner.env.envs for name in view.snapshots},
        "opened": runner.module[POOL].opponents.names,
        "weights": {key: np.array(part) for key, part in runner.module[MAIN].get_state().items()},
    }


def runner_of(algorithm):
    """What is ``told`` of the only runner; None while there is none."""
    group = algorithm.env_runner_group
    found = group.foreach_env_runner(told, local_env_runner=False) if group.healthy_worker_ids() else []
    return found[0] if found else None


@pytest.mark.usefixtures("running_ray")
def test_a_runner_that_is_restarted_has_the_present_snapshots_in_the_engines_seats(ends, tmp_path):
    store = SnapshotStore(tmp_path)
    add(store, "strong", network=network_called("strong"))
    env = {**entries(None, "strong"), "max_cycles": 6}
    config = configure(PPOConfig(), env, store=store, runner="batched", size="small")
    config.env_runners(
        num_env_runners=1, num_envs_per_env_runner=2, rollout_fragment_length=6, create_local_env_runner=False
    )
    config.training(train_batch_size_per_learner=12, minibatch_size=8, num_epochs=1)
    config.fault_tolerance(
        restart_failed_env_runners=True,
        delay_between_env_runner_restarts_s=0,
        env_runner_health_probe_timeout_s=PATIENCE,
    )
    algorithm = ends(config.build_algo())
    algorithm.train()
    add(store, "later", policy="1", network=network_called("1"))
    set_league(algorithm, table("later"))
    set_env(algorithm, config=OTHER_GAMES)
    store.remove("strong")  # the first table's: whoever went back to it would find nothing
    before = runner_of(algorithm)
    os.kill(before["pid"], signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while (now := runner_of(algorithm)) is None or now["pid"] == before["pid"]:
        assert time.monotonic() < end, "the runner is not back"
        algorithm.train()
    algorithm.train()
    now = runner_of(algorithm)
    assert now["tables"] == {table("later").to_json()}
    assert now["games"] == OTHER_GAMES
    assert now["in_engine"] == {"later"}
    assert now["in_pool"] == set()
    assert now["opened"] == []
    weights = algorithm.learner_group.get_weights([MAIN])[MAIN]
    for name, array in weights.items():
        np.testing.assert_array_equal(now["weights"][name], array)
