#!/usr/bin/env python3
"""Trains a league while snapshots come and go, and says whether its memory stays where it was.

    python benchmarks/rllib/soak.py                     500 iterations, half an hour
    python benchmarks/rllib/soak.py --iterations 30     as in CI

Every iteration freezes a copy of the network, lets the league draw the last ten copies only, and
removes the one before them from the store. It needs Ray with RLlib and torch (the extra ``rllib``). What
driver and runners take after each iteration stands in benchmarks/results/soak.json. The exit code is 1 if the
median of the last fifth is more than 2 % over that of the second fifth: the first is for warming up.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
import warnings
from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig

from benchmarks import goals, harness
from rllib_adapters.configure import configure
from rllib_adapters.league.control import freeze, set_league
from rllib_adapters.modules.board import ReferenceModule, settings_of
from rllib_adapters.train.memory_watch import MB, RAY, describe
from territorial import GameConfig
from territorial.cli import options
from territorial.league import Group, LeagueTable, SnapshotStore
from territorial.memory.measure import measure

RESULT = harness.RESULTS / "soak.json"
KEPT = 10
"""Snapshots that are there at a time."""
FLAT = goals.bound("soak", "growth")
GAME = GameConfig(height=64, width=64, num_players=8, max_ticks=1000)


def league(names: list[str]) -> LeagueTable:
    """Return who plays: two who learn, four snapshots, two bots."""
    snapshots = {f"snapshot:{name}": 1.0 for name in names}
    return LeagueTable(
        [
            Group(2, {"trainable:main": 1}),
            Group(4, snapshots),
            Group(2, {"bot:metronome": 1, "bot:banker": 1}),
        ]
    )


def build(store: SnapshotStore, runners: int) -> Any:
    """Return the algorithm, with a first snapshot."""
    env_config = {"config": GAME, "league": league(["first"]), "frames": 2}
    settings = settings_of(env_config)
    torch.manual_seed(0)
    weights = ReferenceModule.make_policy(settings).state_dict()
    store.add(
        "first", {name: part.numpy() for name, part in weights.items()}, ReferenceModule.manifest(settings)
    )
    config = configure(PPOConfig(), env_config, module=ReferenceModule, store=store)
    config.env_runners(num_env_runners=runners, rollout_fragment_length=32 // max(1, runners))
    config.training(train_batch_size_per_learner=32, minibatch_size=32, num_epochs=1)
    config.debugging(seed=0, log_level="ERROR")
    return config.build_algo()


def soak(iterations: int, runners: int) -> list[dict[str, Any]]:
    """Return the memory after each iteration."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        store = SnapshotStore(folder)
        algorithm = build(store, runners)
        names = ["first"]
        for i in range(1, iterations + 1):
            algorithm.train()
            names.append(f"main-{i}")
            freeze(algorithm, store, names[-1])
            set_league(algorithm, league(names[-KEPT:]))
            if len(names) > KEPT:
                store.remove(names.pop(0))
            gc.collect()
            rows.append({"iteration": i, **describe(measure())})
            if i % max(1, iterations // 20) == 0:
                kinds = ", ".join(f"{kind} {own / MB:,.0f}" for kind, own in rows[-1]["kinds"].items())
                print(f"{i} of {iterations}: {kinds} MB", flush=True)
        algorithm.stop()
    return rows


def growth(rows: list[dict[str, Any]]) -> float:
    """Return the memory of the last fifth over that of the second, Ray's own processes left out."""
    own = [sum(size for kind, size in row["kinds"].items() if kind != RAY) for row in rows]
    fifth = len(own) // 5
    return statistics.median(own[-fifth:]) / statistics.median(own[fifth : 2 * fifth])


def main(argv: list[str] | None = None) -> int:
    """Train, write what was found and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--iterations",
        type=options.whole(10, 10**6),
        default=500,
        help="training iterations of the run (default %(default)s)",
    )
    parser.add_argument(
        "--env-runners",
        type=options.whole(0, 100),
        default=2,
        help="processes that collect samples (default %(default)s)",
    )
    harness.add_json(parser, shown=f"{RESULT.name} from 500 iterations on")
    parsed = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    ray.init(
        num_cpus=parsed.env_runners + 1,
        object_store_memory=150_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    start = time.perf_counter()
    rows = soak(parsed.iterations, parsed.env_runners)
    seconds = time.perf_counter() - start
    ray.shutdown()
    found = growth(rows)
    print(
        f"{parsed.iterations} iterations in {seconds:,.0f} s: {found:.4f} times the memory "
        f"({rows[0]['measure']}) of the second fifth in the last; at most {FLAT}"
    )
    out = parsed.json or (RESULT if parsed.iterations >= 500 else None)
    if out:
        result = {
            "versions": harness.versions_of("ray", "torch"),
            "iterations": parsed.iterations,
            "runners": parsed.env_runners,
            "snapshots_at_a_time": KEPT,
            "growth": found,
            "seconds": seconds,
            "rows": rows,
        }
        harness.write(out, result)
    return int(found > FLAT)


if __name__ == "__main__":
    sys.exit(main())
