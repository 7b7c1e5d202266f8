#!/usr/bin/env python3
"""Trains one league with 1 and 4 runners on this machine, and with 4 on two nodes of a cluster.

    python benchmarks/rllib/whole_nodes.py                     ten minutes on two cores, 8 GB
    python benchmarks/rllib/whole_nodes.py --network pairs     with networks on pairs
    python benchmarks/rllib/whole_nodes.py --size small        whether it runs, a minute or two

The nodes are local ones of Ray (``ray.cluster_utils.Cluster``): processes of their own, with an object store
and a folder of snapshots each. 8 seats learn, bots have 12, and 12 are frozen, of 32 snapshots in a
``SharedStore``. In every iteration a copy of the network becomes a snapshot, and the oldest one is removed.
Speed is that of the iterations before anything fails, by the processor time of runners and learner.

Then a runner is killed, and of two nodes one is lost and another one started, while all goes on. After each
it is checked that as many runners play as before, by the present table and with the learner's weights. The
exit code is 1 if anything of this is not so. The result, with the machine and the versions, goes to
benchmarks/results/whole_nodes.json. It needs Ray with RLlib and torch (the extra ``rllib``) on Linux.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from ray.cluster_utils import Cluster
from ray.rllib.algorithms.ppo import PPOConfig

from benchmarks import harness
from benchmarks.rllib.league_seats import BOTS, LEARNER, NETWORKS, Seats, environment, fill, names_of
from benchmarks.rllib.processes import pids_of_node, processor_seconds, spent
from rllib_adapters.configure import configure
from rllib_adapters.league.control import freeze, set_league
from rllib_adapters.league.shared_store import SharedStore
from rllib_adapters.train.memory_watch import MB, describe
from territorial import GameConfig
from territorial.cli import options
from territorial.league import Group, LeagueTable
from territorial.memory.measure import measure

RESULT = harness.RESULTS / "whole_nodes.json"
PATIENCE = 180
"""Seconds within which runners must be back."""
HOME, AWAY, NEW = "home", "away", "new"
RUNNER = "runner"
"""What a node has as many of as it has room for runners."""


@dataclass(frozen=True)
class Placement:
    """Where a league is played."""

    runners: int
    nodes: int = 1

    def __str__(self) -> str:
        runners = "1 runner" if self.runners == 1 else f"{self.runners} runners"
        return f"{runners}, {self.nodes} nodes" if self.nodes > 1 else runners


@dataclass(frozen=True)
class Amount:
    """How much is played."""

    game: GameConfig
    seats: Seats
    games: int
    """Of each runner."""
    steps: int
    """Of each game in an iteration."""
    iterations: int
    """That are timed, after two that are not."""


CASES = (Placement(1), Placement(4), Placement(4, nodes=2))
SIZES = {
    "full": Amount(GameConfig(max_ticks=1000), Seats(), games=8, steps=8, iterations=10),
    "small": Amount(
        GameConfig(height=64, width=64, num_players=8, max_ticks=400),
        Seats(learning=2, bots=3, frozen=3, snapshots=4),
        games=2,
        steps=6,
        iterations=3,
    ),
}


def main(argv: list[str] | None = None) -> int:
    """Train, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, SIZES)
    parser.add_argument(
        "--network", choices=NETWORKS, default="features", help="what learns (default %(default)s)"
    )
    harness.add_json(parser, shown=f"{RESULT.name} at full size")
    parsed = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cases = {str(case): played(case, SIZES[parsed.size], parsed.network) for case in CASES}
    alone = cases[str(CASES[0])]
    for name, found in cases.items():
        for speed in ("env_steps_per_process_second", "env_steps_per_runner_second"):
            found[f"{speed}_over_1_runner"] = found[speed] / alone[speed]
        print(text_of(name, found))
    is_right = all(event["is_right"] for found in cases.values() for event in found["events"])
    result = {
        "versions": harness.versions_of("ray", "torch"),
        "size": parsed.size,
        "network": parsed.network,
        "cases": cases,
        "is_right": is_right,
    }
    out = parsed.json or (RESULT if parsed.size == "full" else None)
    if out:
        harness.write(out, result)
    return int(not is_right)


def text_of(name: str, found: Mapping[str, Any]) -> str:
    """Return a case in a few lines."""
    lines = [
        f"{name}: {found['env_steps_per_process_second']:,.0f} steps a second of processor, "
        f"{found['env_steps_per_process_second_over_1_runner']:.2f} times those of 1 runner; sampling alone "
        f"{found['env_steps_per_runner_second']:,.0f}, "
        f"{found['env_steps_per_runner_second_over_1_runner']:.2f} times"
    ]
    for node, memory in found["memory"].items():
        kinds = ", ".join(f"{kind} {nbytes / MB:,.0f}" for kind, nbytes in memory["kinds"].items())
        lines.append(f"    {node}: {memory['total'] / MB:,.0f} MB ({memory['measure']}): {kinds}")
    for event in found["events"]:
        verdict = "all right" if event["is_right"] else f"WRONG: {event['wrong']}"
        lines.append(
            f"    {event['what']}: all runners back after {event['iterations']} iterations, "
            f"{event['seconds']:.0f} s; {verdict}"
        )
    return "\n".join(lines)


# ---- a case ------------------------------------------------------------------------------------------


def played(case: Placement, size: Amount, network: str) -> dict[str, Any]:
    """Return what a league did and took in a case."""
    harness.tell(f"{case}: starting")
    with cluster_of(case) as (cluster, nodes), tempfile.TemporaryDirectory() as folder:
        changing = ChangingLeague(case, size, network, Path(folder))
        try:
            for _ in range(2):
                changing.iterate()
            found = timed(changing, size)
            found["memory"] = memory_of(nodes)
            found["fetched"] = len(list((Path(folder) / "cache").glob("*/*/manifest.json")))
            found["events"] = [changing.outlive("a runner killed", changing.kill_one)]
            if case.nodes > 1:
                replace = partial(replace_away, cluster, nodes, case)
                found["events"].append(changing.outlive("a node lost, and another one started", replace))
                found["memory_after"] = memory_of(nodes)
        finally:
            changing.algorithm.stop()
    return {"runners": case.runners, "nodes": case.nodes, **found}


@contextmanager
def cluster_of(case: Placement) -> Iterator[tuple[Cluster, dict[str, Any]]]:
    """Start nodes, connect to them, and yield the cluster and its nodes by name."""
    cluster = Cluster()
    nodes = {HOME: cluster.add_node(**room_for(case), include_dashboard=False)}
    if case.nodes > 1:
        nodes[AWAY] = cluster.add_node(**room_for(case))
    path = os.pathsep.join(part for part in sys.path if part)
    ray.init(
        address=cluster.address,
        log_to_driver=False,
        logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": path}},
    )
    try:
        yield cluster, nodes
    finally:
        ray.shutdown()
        cluster.shutdown()


def room_for(case: Placement) -> dict[str, Any]:
    """Return what a node has: room for its part of the runners."""
    part = case.runners // case.nodes
    return {"num_cpus": part, "resources": {RUNNER: part}, "object_store_memory": 150_000_000}


def replace_away(cluster: Cluster, nodes: dict[str, Any], case: Placement) -> None:
    """Kill the processes of a node, and start another one."""
    cluster.remove_node(nodes.pop(AWAY), allow_graceful=False)
    nodes[NEW] = cluster.add_node(**room_for(case))


class ChangingLeague:
    """An algorithm with runners, and a league of which a snapshot comes and one goes in every iteration."""

    def __init__(self, case: Placement, size: Amount, network: str, folder: Path) -> None:
        self.case, self.seats, self.names = case, size.seats, names_of(size.seats.snapshots)
        self.store = SharedStore(folder / "snapshots", cache=folder / "cache")
        self.algorithm = self._build(size, NETWORKS[network])

    def _build(self, size: Amount, network: Any) -> Any:
        entries = environment(network, size.seats, size.game)
        config = configure(
            PPOConfig(),
            entries,
            module=network.module,
            store=self.store,
            runner="batched",
            **network.settings,
        )
        fill(config, self.store, network, entries, size.seats.snapshots)
        config.env_runners(
            num_env_runners=self.case.runners,
            num_envs_per_env_runner=size.games,
            rollout_fragment_length=size.steps,
            sample_timeout_s=None,
            create_local_env_runner=False,
            custom_resources_per_env_runner={RUNNER: 1},
        )
        config.training(
            train_batch_size_per_learner=self.case.runners * size.games * size.steps,
            minibatch_size=None,
            num_epochs=1,
        )
        config.fault_tolerance(
            restart_failed_env_runners=True,
            delay_between_env_runner_restarts_s=0,
            env_runner_health_probe_timeout_s=60,
        )
        config.debugging(seed=0, log_level="ERROR")
        return config.build_algo()

    def iterate(self) -> dict[str, Any]:
        """Train for an iteration; let a snapshot come, and the oldest one go."""
        result: dict[str, Any] = self.algorithm.train()
        self.names.append(f"now-{self.algorithm.training_iteration}")
        freeze(self.algorithm, self.store, self.names[-1])
        oldest = self.names.pop(0)
        set_league(self.algorithm, self.table())
        self.store.remove(oldest)
        return result

    def table(self) -> LeagueTable:
        """Return the table that draws the players."""
        snapshots = {f"snapshot:{name}": 1.0 for name in self.names}
        seats = self.seats
        return LeagueTable(
            [
                Group(seats.learning, {f"trainable:{LEARNER}": 1.0}),
                Group(seats.bots, BOTS),
                Group(seats.frozen, snapshots),
            ]
        )

    def told(self) -> dict[int, dict[str, Any]]:
        """Return what every healthy runner tells, by its number."""
        group = self.algorithm.env_runner_group
        found = {
            index: group.foreach_env_runner(_told, remote_worker_ids=[index], local_env_runner=False)
            for index in group.healthy_worker_ids()
        }
        return {index: own[0] for index, own in found.items() if own}  # none of one that has just died

    def kill_one(self) -> None:
        """Kill the process of a runner."""
        os.kill(min(self.pids()), signal.SIGKILL)

    def outlive(self, what: str, happen: Any) -> dict[str, Any]:
        """Return how long the league needs after something happened until all runners play again."""
        harness.tell(f"{self.case}: {what}")
        began, iterations, before, now = time.perf_counter(), 0, self.pids(), set[int]()
        happen()
        seconds = 0.0
        while seconds < PATIENCE and (now == before or len(now) < self.case.runners):
            self.iterate()
            iterations, now, seconds = iterations + 1, self.pids(), time.perf_counter() - began
        self.iterate()
        wrong = self.wrong()
        return {
            "what": what,
            "iterations": iterations,
            "seconds": seconds,
            "wrong": wrong,
            "is_right": not wrong,
        }

    def pids(self) -> set[int]:
        """Return the processes of all healthy runners."""
        return {one["pid"] for one in self.told().values()}

    def wrong(self) -> list[str]:
        """Return what is not as it must be."""
        runners, table = self.told().values(), self.table().to_json()
        weights = self.algorithm.learner_group.get_weights([LEARNER])[LEARNER]
        found = []
        if len(runners) != self.case.runners:
            found.append(f"{len(runners)} runners play")
        if any(one["tables"] != {table} for one in runners):
            found.append("a runner has another table")
        if any((one["weights"][key] != part).any() for one in runners for key, part in weights.items()):
            found.append("a runner has other weights")
        if set(self.store.names()) != set(self.names):
            found.append("the store has other snapshots")
        return found


def _told(runner: Any) -> dict[str, Any]:
    """Return the process of a runner, its tables and its weights."""
    return {
        "pid": os.getpid(),
        "tables": {view.league.to_json() for view in runner.env.envs},
        "weights": {key: np.array(part) for key, part in runner.module[LEARNER].get_state().items()},
    }


# ---- what it takes -----------------------------------------------------------------------------------


def timed(changing: ChangingLeague, size: Amount) -> dict[str, Any]:
    """Return the speed of some iterations, by wall time and by processor time."""
    runners = changing.pids()
    began, before = time.perf_counter(), processor_seconds([os.getpid(), *runners])
    for i in range(size.iterations):
        harness.tell(f"{changing.case}: {i + 1} of {size.iterations}")
        changing.iterate()
    seconds, after = time.perf_counter() - began, processor_seconds([os.getpid(), *runners])
    steps = size.iterations * changing.case.runners * size.games * size.steps
    of_runners = spent(before, {pid: after[pid] for pid in runners})
    return {
        "env_steps": steps,
        "seconds": seconds,
        "process_seconds": spent(before, after),
        "env_steps_per_second": steps / seconds,
        "env_steps_per_process_second": steps / spent(before, after),
        "env_steps_per_runner_second": steps / of_runners,
    }


def memory_of(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the processes of each node take; that of this process counts to home."""
    pids = {name: pids_of_node(node) for name, node in nodes.items()}
    pids[HOME] |= {os.getpid()}
    return {name: describe(measure(sorted(own))) for name, own in pids.items()}


if __name__ == "__main__":
    sys.exit(main())
