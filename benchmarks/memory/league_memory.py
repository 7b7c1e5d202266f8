#!/usr/bin/env python3
"""Measures what the league takes that did not fit, and compares it with RLlib's own ways of doing it.

The league has 32 players on 256 x 256 cells: a policy of 4.9 million parameters that learns, 32 bots and 32
frozen copies, with 2 batched runners, and with 2 of RLlib's own. It is measured as well with the networks of
the presets "features" and "pairs", with both of them in one league, and in the sizes of the preset "pairs".

    python benchmarks/memory/league_memory.py            forty minutes, 12 GB of memory, 6 GB of disk
    python benchmarks/memory/league_memory.py --only packed "packed, small"

Memory is PSS of all processes together, Ray's own among them: what they share counts once, mapped files too.
The peak is the worst moment of an iteration, at full size of the first five; all runners have read all
snapshots before.

It needs Ray with RLlib and torch (the extra ``rllib``) on Linux. Every case has a process of its own. What
fits is measured, all in this one run; what does not fit is extrapolated from it and marked so. The result is
benchmarks/results/league_memory.json, from which benchmarks/tables makes tables, and which
benchmarks/check_goals.py holds against the goals.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

from benchmarks import harness
from benchmarks.memory.where_memory_goes import LeagueCase, configuration
from territorial.memory.measure import PSS, Memory, measure, process_tree
from territorial.memory.plan import MB, Plan
from territorial.memory.predict import predict
from territorial.memory.setup import Setup

RESULT = harness.RESULTS / "league_memory.json"

LEAGUE = Setup(parameters=4_900_000, driver_plays=0)
"""The league: 8 of 32 seats learn, 64 steps an iteration in minibatches of 16; only runners play."""
TABLES = dataclasses.replace(LEAGUE, frames=1, parameters=70_000, activations=2_000)
"""The same with networks on tables, or on pairs."""
MIDDLE = dataclasses.replace(
    LEAGUE,
    height=128,
    width=128,
    num_players=16,
    agents=4,
    snapshots=100,
    env_runners=1,
    games=4,
    steps=256,
    minibatch=64,
)
SMALL = dataclasses.replace(
    LEAGUE,
    height=64,
    width=64,
    num_players=8,
    frames=1,
    agents=2,
    snapshots=8,
    env_runners=0,
    steps=512,
    minibatch=128,
)
PRESET = dataclasses.replace(
    TABLES,
    height=96,
    width=96,
    num_players=12,
    agents=4,
    bots=4,
    snapshots=40,
    games=64,
    steps=8192,
    minibatch=4096,
)
"""That of ``territorial train``, which has pairs."""


class PackedCase(NamedTuple):
    """A league of this project to measure."""

    setup: Setup
    network: str = "reference"
    """Of ``league_seats.NETWORKS``; in the form "mixed", that of the agents on boards."""
    form: str = "packed"
    """Of the prediction."""
    runner: str = "batched"
    iterations: int = 5
    epochs: int = 1


STOCK_RUNNER = "packed with RLlib's own runner"
SMALL_NETWORKS = ("features", "pairs", "mixed")
"""Those of the same league whose networks are small."""
PACKED = {
    "packed": PackedCase(LEAGUE),
    STOCK_RUNNER: PackedCase(LEAGUE, runner="stock"),
    "features": PackedCase(TABLES, "tables"),
    "pairs": PackedCase(TABLES, "pairs", "pairs"),
    "mixed": PackedCase(dataclasses.replace(TABLES, pair_agents=4), "tables", "mixed"),
    "pairs, preset": PackedCase(PRESET, "pairs", "pairs", epochs=2),
    "packed, middle": PackedCase(MIDDLE, runner="stock", iterations=1),
    "packed, small": PackedCase(SMALL, runner="stock", iterations=1),
}
ONE_HOT = dataclasses.replace(LEAGUE, agents=32, parameters=1, env_runners=0, snapshots=0, bots=0)
STOCK = {
    "1 network": LeagueCase("1 network", ONE_HOT),
    "2 networks": LeagueCase("2 networks", dataclasses.replace(ONE_HOT, snapshots=1)),
    "1 network, 4 bots": LeagueCase("1 network, 4 bots", dataclasses.replace(ONE_HOT, bots=4)),
}
MANY, MANY_RUNNERS = 300, 4
STOCK_MODULES = (0, 4, 8)
"""Frozen modules beside the one that learns, for what each takes in RLlib's new stack."""
SYNCS = 7
COMPILE = """
import torch
from territorial.nets import OwnerConv2d
from territorial.observation.layout import ObsLayout

layer = OwnerConv2d(ObsLayout(height=16, width=16, num_players=2, frames=1), 2, 2)
layer(torch.zeros((1, 1, 16, 16), dtype=torch.uint8)).sum().backward()
"""
"""Compiles the kernels of OwnerConv2d, which `territorial warmup` leaves out."""


# ---- measuring ---------------------------------------------------------------------------------------


class Peak:
    """The most that this process and all that it started take together while the block runs."""

    def __init__(self) -> None:
        self.total = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.total = max(self.total, measure().total)


def settled() -> Memory:
    """Return what this process and all that it started take, after all of them have had time to settle."""
    gc.collect()
    time.sleep(2)
    return measure()


def quiet_ray(cpus: int) -> Any:
    """Start Ray with as little around it as it can do with."""
    import ray

    ray.init(
        address="local",  # whatever other clusters there may be
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=400 * MB,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}},
    )
    return ray


def import_everything() -> int:
    """Import what a runner imports, and return the number of the process."""
    import ray.rllib.algorithms.ppo
    import torch

    import rllib_adapters.configure

    del rllib_adapters
    return os.getpid() if ray and torch else 0


def idle(ray: Any, runners: int) -> dict[str, int]:
    """Return what this process, others instead of runners, and Ray take before anything is built."""
    import_everything()
    actor = ray.remote(_Idle)
    others = [actor.remote() for _ in range(runners)]
    pids = ray.get([other.pid.remote() for other in others])
    memory = settled()
    own = {process.pid: process.nbytes for process in memory.processes}
    found = {
        "total": memory.total,
        "driver": own[os.getpid()],
        "runner": int(statistics.mean(own[pid] for pid in pids)) if pids else 0,
    }
    found["services"] = found["total"] - found["driver"] - runners * found["runner"]
    for other in others:
        ray.kill(other)
    while set(pids) & set(process_tree()):
        time.sleep(0.1)
    return found


class _Idle:
    """A process that has imported everything and does nothing."""

    def pid(self) -> int:
        """Return its number."""
        return import_everything()


# ---- with this project -------------------------------------------------------------------------------


def packed(case: PackedCase) -> dict[str, Any]:
    """Build a league, open all of its snapshots, train some iterations, and measure each."""
    ray = quiet_ray(case.setup.env_runners + 1)
    found: dict[str, Any] = {"setup": asdict(case.setup), "form": case.form, "network": case.network}
    found["idle"] = idle(ray, case.setup.env_runners)
    from benchmarks.memory import packed_league

    league = packed_league.MeasuredLeague(case.setup, case.network, case.form)
    with packed_league.filled_store(league) as store:
        found["activations"] = packed_league.activations_of(league)
        with Peak() as peak:
            algorithm = packed_league.config_of(league, store, case.runner, case.epochs).build_algo()
            found["built"] = settled().total
        found["building_peak"] = peak.total
        packed_league.open_all(algorithm, league.names)
        found["opened"] = settled().total
        found |= trained(algorithm, case.iterations)
        found["parameters"] = packed_league.parameters_of(algorithm, league)
        algorithm.stop()
    ray.shutdown()
    return found


def trained(algorithm: Any, iterations: int) -> dict[str, Any]:
    """Train, and return the worst moment of each iteration and of all, the seconds of one, what is left."""
    peaks, seconds = [], []
    for _ in range(iterations):
        start = time.perf_counter()
        with Peak() as peak:
            algorithm.train()
        peaks.append(peak.total)
        seconds.append(time.perf_counter() - start)
    after = settled().total
    return {"iteration_s": statistics.median(seconds), "peaks": peaks, "peak": max(peaks), "after": after}


def three_hundred(snapshots: int) -> dict[str, Any]:
    """Return what four runners take that play with so many snapshots, and how long weights take to them."""
    from benchmarks.memory import packed_league

    setup = dataclasses.replace(LEAGUE, height=64, width=64, snapshots=snapshots, env_runners=MANY_RUNNERS)
    ray = quiet_ray(MANY_RUNNERS + 1)
    league = packed_league.MeasuredLeague(setup, "reference", "packed")
    with packed_league.filled_store(league) as store:
        algorithm = packed_league.config_of(league, store).build_algo()
        algorithm.train()
        if snapshots:
            packed_league.open_all(algorithm, league.names)
        found = {"snapshots": snapshots, **runners_of(algorithm), **synced(algorithm)}
        algorithm.stop()
    ray.shutdown()
    return found


# ---- RLlib's own ways --------------------------------------------------------------------------------


def one_hot(case: LeagueCase) -> dict[str, Any]:
    """Build networks and bots on the old stack, with one-hot boards of full size, in one process."""
    ray = quiet_ray(2)
    config = configuration(case)
    gc.collect()
    before = measure([os.getpid()]).total
    with Peak() as peak:
        algorithm = config.build_algo()
        found = measure([os.getpid()]).total
    algorithm.stop()
    ray.shutdown()
    return {
        "networks": 1 + case.setup.snapshots,
        "bots": case.setup.bots,
        "idle": before,
        "built": found,
        "peak": peak.total,
    }


def frozen_modules(count: int) -> dict[str, Any]:
    """Return what a runner takes with ``count`` frozen modules beside the one that learns."""
    from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec

    from benchmarks.memory import packed_league
    from rllib_adapters.modules.board import ReferenceModule

    ray = quiet_ray(2)
    setup = dataclasses.replace(LEAGUE, height=64, width=64, env_runners=1, snapshots=0)
    league = packed_league.MeasuredLeague(setup, "reference", "packed")
    with packed_league.filled_store(league) as store:
        config = packed_league.config_of(league, store)
        ids = ["main", *(f"frozen_{i}" for i in range(count))]
        spec = RLModuleSpec(module_class=ReferenceModule, model_config=league.settings("main"))
        config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(ids, spec)))
        config.multi_agent(policies=set(ids))
        algorithm = config.build_algo()
        algorithm.train()
        found = {"snapshots": count, **runners_of(algorithm), **synced(algorithm)}
        algorithm.stop()
    ray.shutdown()
    return found


def runners_of(algorithm: Any) -> dict[str, Any]:
    """Return the mean memory of runners, and how much of it each has for itself."""
    pids = algorithm.env_runner_group.foreach_env_runner(lambda _: os.getpid(), local_env_runner=False)
    gc.collect()
    time.sleep(2)
    found = measure(pids).processes
    return {
        "runners": len(pids),
        "runner_pss": int(statistics.mean(process.nbytes for process in found)),
        "runner_private": int(statistics.mean(process.private for process in found)),
    }


def synced(algorithm: Any) -> dict[str, Any]:
    """Return how long weights take to all runners, as PPO sends them after an iteration, and their bytes."""
    ids = sorted(algorithm.config.rl_module_spec.rl_module_specs)
    seconds = []
    for _ in range(SYNCS):
        start = time.perf_counter()
        algorithm.env_runner_group.sync_weights(
            from_worker_or_learner_group=algorithm.learner_group, policies=ids, inference_only=True
        )
        algorithm.env_runner_group.foreach_env_runner(lambda _: None, local_env_runner=False)
        seconds.append(time.perf_counter() - start)
    weights = algorithm.learner_group.get_weights(ids)
    sent = sum(array.nbytes for state in weights.values() for array in state.values())
    return {"sync_s": statistics.median(seconds), "sync_bytes": sent}


# ---- all of it ---------------------------------------------------------------------------------------

CASES: dict[str, Callable[[], dict[str, Any]]] = {
    **{name: (lambda case=case: packed(case)) for name, case in PACKED.items()},
    **{f"one-hot, {name}": (lambda case=case: one_hot(case)) for name, case in STOCK.items()},
    **{f"pool, {n} snapshots": (lambda n=n: three_hundred(n)) for n in (0, MANY)},
    **{f"stock, {n} modules": (lambda n=n: frozen_modules(n)) for n in STOCK_MODULES},
}


def main(argv: list[str] | None = None) -> int:
    """Measure all cases and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="CASE",
        help="case to measure; the others keep the result on file (default all)",
    )
    harness.add_json(parser, RESULT)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)  # what the processes are given
    parsed = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    if parsed.case is not None:
        print(json.dumps(CASES[parsed.case]()))
        return 0
    if measure([]).measure != PSS:
        print("what processes share can be told on Linux only", file=sys.stderr)
        return 1
    subprocess.run([sys.executable, "-m", "territorial", "warmup"], check=True)
    subprocess.run([sys.executable, "-c", COMPILE], check=True)
    found = json.loads(parsed.json.read_text(encoding="utf-8"))["cases"] if parsed.only else {}
    for name in CASES:
        if parsed.only and name not in parsed.only:
            continue
        start = time.perf_counter()
        command = [sys.executable, __file__, "--case", name]
        ended = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        found[name] = json.loads(ended.stdout.splitlines()[-1])
        print(f"{name} ({time.perf_counter() - start:.0f} s): {summary(found[name])}", flush=True)
    result = {
        "versions": harness.versions_of("ray", "torch"),
        "measure": PSS,
        "cases": found,
    }
    harness.write(parsed.json, result)
    print(f"written to {parsed.json}")
    return 0


# ---- what it says ------------------------------------------------------------------------------------


def over_idle(case: dict[str, Any], when: str) -> int:
    """Return what a packed league takes over processes that have imported everything and do nothing."""
    return int(case[when] - case["idle"]["total"])


def predicted(case: dict[str, Any]) -> Plan:
    """Return the prediction for a packed league, from what idle processes took and what boards take."""
    idle_case, runners = case["idle"], case["setup"]["env_runners"]
    process = (idle_case["driver"] + runners * idle_case["runner"]) // (1 + runners)
    known = {
        "parameters": case["parameters"],
        "activations": case["activations"],
        "process_mb": round(process / MB),
        "services_mb": round(idle_case["services"] / MB),
    }
    return predict(Setup.from_dict(case["setup"] | known), case.get("form", "packed"))


def one_hot_league(cases: dict[str, Any]) -> dict[str, float]:
    """Return what a network and a bot take with one-hot boards, and the whole league, extrapolated."""
    alone, two, bots = (cases[f"one-hot, {name}"] for name in STOCK)
    network = two["built"] - alone["built"]
    bot = (bots["built"] - alone["built"]) / bots["bots"]
    process = alone["built"] - alone["idle"] - network + (1 + LEAGUE.snapshots) * network + LEAGUE.bots * bot
    return {"network": network, "bot": bot, "process": process, "built": (1 + LEAGUE.env_runners) * process}


def growth_of_runners(cases: dict[str, Any]) -> dict[str, float]:
    """Return by how much a runner's private memory grows with 300 snapshots: here, and with RLlib's modules.

    The second is extrapolated from a few modules, in a straight line.
    """
    first, *_, last = (cases[f"stock, {n} modules"] for n in STOCK_MODULES)
    each = (last["runner_private"] - first["runner_private"]) / last["snapshots"]
    here = cases[f"pool, {MANY} snapshots"]["runner_private"] - cases["pool, 0 snapshots"]["runner_private"]
    return {"here": here, "module": each, "modules": MANY * each}


def summary(found: dict[str, Any]) -> str:
    """Return the sizes of a case in MB."""
    sizes = ("idle", "built", "opened", "peak", "after", "runner_private", "sync_bytes")
    parts = []
    for name in sizes:
        if name in found:
            size = found[name]["total"] if isinstance(found[name], dict) else found[name]
            parts.append(f"{name} {size / MB:,.0f}")
    return ", ".join(parts) + " MB"


if __name__ == "__main__":
    sys.exit(main())
