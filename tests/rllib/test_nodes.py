"""Snapshots on two machines of a cluster; here both of them are this one."""

import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

from rllib_adapters import SharedStore, add_league
from rllib_adapters.cluster import OnRay
from rllib_adapters.league.callback import league_in
from territorial import cli, evaluate
from territorial.league import League, SnapshotStore, UnknownSnapshotError
from tests.rllib import kit
from tests.rllib.support import CONFIG, env_vars, fill
from tests.rllib.test_fault_tolerance import SCENARIOS
from tests.rllib.test_league import league_config, small_league
from tests.torch.reproducible import need

pytestmark = pytest.mark.verify

# What the other machine has.
AWAY = {"num_cpus": 4, "resources": {"away": 4, "runner": 1}, "object_store_memory": 80_000_000}
# Rounds of a second after which it hangs.
PAGE = Path(__file__).parents[2] / "docs" / "clusters.md"


@pytest.fixture(scope="module", autouse=True)
def two_machines(no_ray):
    """That of this process, and ``away``, which a test may replace."""
    cluster = Cluster()
    home = {"num_cpus": 1, "resources": {"home": 1, "runner": 1}, "object_store_memory": 80_000_000}
    cluster.add_node(**home, include_dashboard=False)
    cluster.away = cluster.add_node(**AWAY)
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": env_vars()})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@ray.remote(num_cpus=0)
class Reader:
    """A process that reads snapshots."""

    def __init__(self, store):
        self.store = store

    def path(self):
        return str(self.store.path)

    def bias(self, name):
        return np.array(self.store.load(name)["policy_head.bias"])

    def network(self, name):
        found = self.store.network(name)
        return None if found is None else (str(found.path), found.path.read_bytes())

    def known(self, name):
        try:
            return self.store.manifest(name).architecture
        except UnknownSnapshotError:
            return None


@pytest.mark.skipif(not PAGE.exists(), reason=f"{PAGE} is not here")
def test_python_on_the_page_about_clusters_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    names = {"__name__": "page"}
    exec(compile(block, PAGE.name, "exec"), names)
    assert names["found"].matrix("place").games.tolist() == [[4], [4]]


def add(store, name, number):
    saved = store.load("first")
    store.add(name, {key: np.full_like(array, number) for key, array in saved.items()}, saved.manifest)


def test_what_is_away_is_fetched_once_and_kept_current(tmp_path):
    fill(tmp_path / "store")
    store = SharedStore(tmp_path / "store", cache=tmp_path / "cache")
    assert store.path == tmp_path / "store"
    readers = [Reader.options(resources={"away": 1}).remote(store) for _ in range(2)]
    at_home = Reader.options(resources={"home": 1}).remote(store)
    assert ray.get(at_home.path.remote()) == str(tmp_path / "store")
    (path,) = set(ray.get([reader.path.remote() for reader in readers]))
    assert path.startswith(str(tmp_path / "cache"))
    wanted = store.load("first")["policy_head.bias"]
    for bias in ray.get([reader.bias.remote("first") for reader in readers]):
        np.testing.assert_array_equal(bias, wanted)
    (cache,) = (tmp_path / "cache").iterdir()
    assert [entry.name for entry in cache.iterdir() if entry.is_dir()] == ["first"]  # the second nobody needs

    add(store, "third", 1)
    assert ray.get(readers[0].bias.remote("third"))[0] == 1
    store.remove("third")
    assert ray.get(readers[0].bias.remote("third"))[0] == 1  # who plays it may go on
    add(store, "third", 2)
    assert [bias[0] for bias in ray.get([reader.bias.remote("third") for reader in readers])] == [2, 2]
    assert ray.get(readers[0].known.remote("nobody")) is None

    assert ray.get(readers[0].network.remote("third")) is None
    store.remove("third")
    saved = store.load("first")
    store.add("third", dict(saved), saved.manifest, network=[b"for the engine"])
    for there, content in ray.get([reader.network.remote("third") for reader in readers]):
        assert (there.startswith(path), content) == (True, b"for the engine")


def commanded(tmp_path, *arguments):
    """What a command printed that joined the cluster, in a process of its own."""
    address = ray.get_runtime_context().gcs_address
    done = subprocess.run(
        [sys.executable, "-m", "territorial", *arguments, "--address", address],
        env=os.environ | env_vars() | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_join_the_cluster_and_print_what_they_do_without_it(tmp_path, capsys):
    store = fill(tmp_path / "store", is_sure=True, frames=1).path
    size = f"--height {CONFIG.height} --width {CONFIG.width} --num-players {CONFIG.num_players}"
    snapshots = ("--store", str(store), "--architecture", "SmallModule=tests.torch.support:MeanTrunk")
    for who, options in (
        ("--seats turtle,snapshot:first --games 6", snapshots),
        ("--deal --seats turtle,novice,banker --games 3", ("--processes", "2")),
    ):
        command = [*f"match {who} --max-ticks 100 {size}".split(), *options]
        there = commanded(tmp_path, *command)
        assert cli.main([*command, "--processes", "1"]) == 0
        assert capsys.readouterr().out == there


def test_a_league_is_trained_on_the_machines_of_a_cluster_and_resumed_there(tmp_path):
    """Two runners do not fit on the machine of this process, which has one CPU."""
    options = "--preset quick --height 24 --width 24 --num-maps 1 --max-ticks 400 --num-games 2"
    options += " --iteration-steps 24 --minibatch 12 --freeze-every 1 --checkpoint-every 1 --env-runners 2"
    run = tmp_path / "run"
    commanded(tmp_path, "train", str(run), *options.split(), "--iterations", "1")
    commanded(tmp_path, "train", str(run), "--resume", "--iterations", "3")
    assert len((run / "progress.csv").read_text().splitlines()) == 1 + 3
    assert "last" in SnapshotStore(run / "snapshots")
    assert list((tmp_path / "territorial-snapshots").rglob("*.safetensors")), (
        "the other machine has fetched snapshots that played"
    )


def test_a_league_of_another_environment_plays_snapshots_on_both_machines(ends, tmp_path):
    need("pygame", "rllib")
    kit.register()
    store = SharedStore(tmp_path / "store", cache=tmp_path / "cache")
    config = kit.config_of("four", runners=2, custom_resources_per_env_runner={"runner": 1})
    league, given = League(kit.rules_of("four", bots=()), rated=False), kit.LEAGUES["four"][1]
    algorithm = ends(add_league(config, league, store, modules=given["modules"]).build_algo())
    for _ in range(3):
        result = algorithm.train()["league"]
    played = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: (ray.get_runtime_context().get_node_id(), len(runner.pools()["pool"].opponents.names)),
        local_env_runner=False,
    )
    assert len({node for node, _ in played}) == 2, "each machine has one of the runners"
    assert all(count for _, count in played)
    assert result["snapshots"] == 2 + 3
    fetched = {path.parent.name for path in (tmp_path / "cache").rglob("*.safetensors")}
    assert fetched <= set(store.names())
    assert fetched


@pytest.mark.parametrize(
    ("address", "reason"), [("127.0.0.1:1", "refused"), ("nowhere", "it must be HOST:PORT or auto")]
)
def test_a_cluster_that_is_not_there_is_an_error_of_the_option(tmp_path, address, reason):
    for command in (["match", "--games", "1"], ["train", str(tmp_path / "run"), "--preset", "quick"]):
        done = subprocess.run(
            [sys.executable, "-m", "territorial", *command, "--address", address],
            env=os.environ | env_vars(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert f"argument --address: '{address}' is not a Ray cluster" in done.stderr
        assert reason in done.stderr


def test_it_can_be_pickled_and_needs_ray(tmp_path, monkeypatch):
    fill(tmp_path / "store")
    assert pickle.loads(pickle.dumps(SharedStore(tmp_path / "store"))).names() == ["first", "second"]
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(RuntimeError, match=r"call ray.init\(\) first"):
        SharedStore(tmp_path / "store")


# ---- a machine is lost -----------------------------------------------------------------------------


def report(runner):
    """Of a runner: its process, its machine, and the table its games are drawn from."""
    tables = {view.league.to_json() for view in runner.env.envs}
    return os.getpid(), ray.get_runtime_context().get_node_id(), tables


def runners_of(algorithm):
    """What is ``report`` of each, by its index."""
    group = algorithm.env_runner_group
    indices = group.healthy_worker_ids()
    return {
        index: group.foreach_env_runner(report, remote_worker_ids=[index], local_env_runner=False)[0]
        for index in indices
    }


def test_the_runner_of_a_machine_that_is_lost_is_restarted_on_a_new_one(ends, tmp_path, two_machines):
    """Meanwhile snapshots come and go: those that the league has dropped are removed from the store."""
    store = SharedStore(tmp_path / "store", cache=tmp_path / "cache")
    config = league_config(store, small_league(), runners=2, games=1, max_cycles=9)
    config.env_runners(custom_resources_per_env_runner={"runner": 1})
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
    lost = {index for index, (_, node, _) in before.items() if node != home}
    assert (len(before), len(lost)) == (2, 1), "each machine has one of them"
    steps = result["env_runners"]["num_env_steps_sampled_lifetime"]
    games = league.num_games
    two_machines.remove_node(two_machines.away, allow_graceful=False)
    two_machines.away = two_machines.add_node(**AWAY)
    new = two_machines.away.node_id
    for _ in range(300):
        iterate()
        now = runners_of(algorithm)
        if len(now) == 2 and all(now[index][1] == new for index in lost):
            break
        time.sleep(1)
    assert {index for index, (_, node, _) in now.items() if node == new} == lost
    assert all((now[index][0] != before[index][0]) == (index in lost) for index in before)
    result = iterate()
    tables = [tables for _, _, tables in runners_of(algorithm).values()]
    assert tables == [{league.table().to_json()}] * 2
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] > steps
    assert league.num_games > games
    assert sorted(store.names()) == sorted(league.snapshots)


def test_games_of_a_machine_that_is_lost_are_played_on_the_other(two_machines):
    def play(make, chunks):
        played = OnRay(4)(make, chunks)
        yield next(played)
        two_machines.remove_node(two_machines.away, allow_graceful=False)
        yield from played

    ways = ({"processes": 1}, {"play": play})
    one, other = [
        evaluate(["banker", "turtle"], SCENARIOS, 40, progress=False, **way).records for way in ways
    ]
    two_machines.away = two_machines.add_node(**AWAY)
    assert other == one
