"""Two machines, a runner and a learner on each; here both of them are this one. One of the runners dies."""

import os
import signal
import time

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

from rllib_adapters.league.callback import league_in
from rllib_adapters.league.control import league_of, set_league
from rllib_adapters.league.shared_store import SharedStore
from territorial.league import Group, LeagueTable
from tests.rllib.mixture import LEARNERS, MIXTURE, mixed_config
from tests.rllib.support import env_vars, fill
from tests.rllib.test_league import league_config, small_league

pytestmark = pytest.mark.verify  # with one machine: test_restarted_runner.py

EACH = {"runner": 1, "learner": 1}
ROOM = {"num_cpus": 4, "resources": EACH, "object_store_memory": 80_000_000}
"""What each machine has."""
PATIENCE = 300
"""Rounds of a second after which it hangs."""


@pytest.fixture(scope="module")
def cluster(no_ray):
    """Two machines: that of this process, and ``away``, which a test may replace."""
    cluster = Cluster()
    cluster.add_node(**ROOM, include_dashboard=False)
    cluster.away = cluster.add_node(**ROOM)
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": env_vars()})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def told(runner):
    """Of a runner: its process, its machine, the table its games are drawn from, its games' names."""
    return (
        os.getpid(),
        ray.get_runtime_context().get_node_id(),
        {view.league.to_json() for view in runner.env.envs},
        {game.id_ for game in runner._rollout.games if game is not None},
    )


def runners_of(algorithm):
    """What is ``told`` of each, by its index."""
    group = algorithm.env_runner_group
    indices = group.healthy_worker_ids()
    return {
        index: group.foreach_env_runner(told, remote_worker_ids=[index], local_env_runner=False)[0]
        for index in indices
    }


def learners_of(algorithm):
    results = algorithm.learner_group.foreach_learner(
        lambda learner: (os.getpid(), ray.get_runtime_context().get_node_id())
    )
    return [result.get() for result in results]


def test_a_runner_that_dies_is_replaced_and_nothing_else_is_lost(ends, tmp_path, cluster):
    fill(tmp_path / "store")
    store = SharedStore(tmp_path / "store", cache=tmp_path / "cache")
    config = mixed_config(store)
    config.env_runners(
        num_env_runners=2, rollout_fragment_length=6, custom_resources_per_env_runner={"runner": 1}
    )
    config.learners(num_learners=2, num_cpus_per_learner=2)
    config.training(train_batch_size_per_learner=12, minibatch_size=8, num_epochs=1)
    config.fault_tolerance(
        restart_failed_env_runners=True,
        delay_between_env_runner_restarts_s=0,
        env_runner_health_probe_timeout_s=60,
    )
    algorithm = ends(config.build_algo())
    algorithm.train()
    table = LeagueTable([*MIXTURE.groups[:3], Group(2, {"snapshot:second": 1})])
    set_league(algorithm, table)
    result = algorithm.train()
    steps = result["env_runners"]["num_env_steps_sampled_lifetime"]
    before, learners = runners_of(algorithm), learners_of(algorithm)
    assert len({node for _, node, *_ in before.values()}) == 2
    assert len({node for _, node in learners}) == 2
    victim, survivor = sorted(before)
    os.kill(before[victim][0], signal.SIGKILL)

    weights = weights_of(algorithm)
    for _ in range(PATIENCE):
        result = algorithm.train()
        now = runners_of(algorithm)
        if len(now) == 2 and now[victim][0] != before[victim][0]:
            break
        time.sleep(1)
    assert sorted(now) == [victim, survivor]
    assert now[victim][0] != before[victim][0]
    assert now[survivor][:2] == before[survivor][:2]
    assert learners_of(algorithm) == learners
    assert league_of(algorithm).to_json() == table.to_json()
    assert now[victim][2] == {table.to_json()} == now[survivor][2]

    result = algorithm.train()
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] > steps
    assert result["fault_tolerance"]["num_remote_worker_restarts"] >= 1
    assert all(own[3] for own in runners_of(algorithm).values())  # both have games under way
    after = weights_of(algorithm)
    assert any((weights["main"][key] != after["main"][key]).any() for key in weights["main"])
    in_runners = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: {name: runner.module[name].get_state() for name in LEARNERS},
        local_env_runner=False,
    )
    assert len(in_runners) == 2
    for own in in_runners:  # the new one plays with what has been learned
        for name in LEARNERS:
            for key, part in own[name].items():
                np.testing.assert_array_equal(part, after[name][key])


def weights_of(algorithm):
    weights = algorithm.learner_group.get_weights()
    return {name: {key: np.array(part) for key, part in weights[name].items()} for name in LEARNERS}


def test_a_league_is_played_on_both_machines_and_its_copies_are_fetched_by_each(ends, tmp_path, cluster):
    store = SharedStore(tmp_path / "store", cache=tmp_path / "cache")
    config = league_config(store, small_league(), runners=2)
    config.env_runners(custom_resources_per_env_runner={"runner": 1})
    algorithm = ends(config.build_algo())
    league, games = league_in(algorithm), 0
    for _ in range(PATIENCE):
        result = algorithm.train()
        games += result["league"]["games"]
        fetched = {path.parent.name for path in (tmp_path / "cache").rglob("manifest.json")}
        if len(fetched) >= 2:
            break
    assert league.num_games == games > 0
    now = runners_of(algorithm)
    assert len({node for _, node, *_ in now.values()}) == 2
    assert all(tables == {league.table().to_json()} for _, _, tables, _ in now.values())
    assert {f"main-{i}" for i in range(algorithm.training_iteration + 1)} == set(store.names())
    assert len(fetched) >= 2, "the first copy, and one that was frozen while they played"
    assert fetched <= set(store.names())


@pytest.mark.parametrize("runners", [2, 4])
def test_runners_of_a_machine_that_is_lost_are_restarted_on_a_new_one(ends, tmp_path, cluster, runners):
    """Meanwhile snapshots come and go: those that the league has dropped are removed from the store."""
    store = SharedStore(tmp_path / "store", cache=tmp_path / "cache")
    config = league_config(store, small_league(), runners=runners, games=1, max_cycles=9)
    config.env_runners(custom_resources_per_env_runner={"runner": 2 / runners})
    config.fault_tolerance(
        restart_failed_env_runners=True,
        delay_between_env_runner_restarts_s=0,
        env_runner_health_probe_timeout_s=60,
    )
    algorithm = ends(config.build_algo())
    league, home = league_in(algorithm), ray.get_runtime_context().get_node_id()

    def iterate():
        result = algorithm.train()
        for name in set(store.names()) - set(league.snapshots):
            store.remove(name)
        return result

    while algorithm.training_iteration < 4:
        result = iterate()
    assert sorted(store.names()) == sorted(league.snapshots)
    assert len(store.names()) == 3, "the first ones have gone"
    before = runners_of(algorithm)
    lost = {index for index, (_, node, *_) in before.items() if node != home}
    assert len(before) == runners
    assert len(lost) == runners // 2, "each machine has half of them"
    steps = result["env_runners"]["num_env_steps_sampled_lifetime"]
    games = league.num_games
    cluster.remove_node(cluster.away, allow_graceful=False)
    cluster.away = cluster.add_node(**ROOM)
    new = cluster.away.node_id
    for _ in range(PATIENCE):
        iterate()
        now = runners_of(algorithm)
        if len(now) == runners and all(now[index][1] == new for index in lost):
            break
        time.sleep(1)
    assert {index for index, (_, node, *_) in now.items() if node == new} == lost
    assert all((now[index][0] != before[index][0]) == (index in lost) for index in before)
    result = iterate()
    now = runners_of(algorithm)
    assert len(now) == runners
    assert all(tables == {league.table().to_json()} for _, _, tables, _ in now.values())
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] > steps
    assert league.num_games > games
    assert sorted(store.names()) == sorted(league.snapshots)
