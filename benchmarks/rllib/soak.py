#!/usr/bin/env python3
"""Trains a full-size league for long, watching memory and speed.

    python benchmarks/rllib/soak.py                     500 iterations, twenty minutes on two cores
    python benchmarks/rllib/soak.py --preset boards     the network over boards; hours
    python benchmarks/rllib/soak.py --iterations 20     whether it runs, as in CI

It is ``territorial train`` with the network and the options of a preset, on 256 x 256 cells: 8 seats learn,
bots have 12, and 12 are frozen, of up to 32 snapshots. An iteration has 64 steps of 10 ticks. In each of
them a copy of the network becomes a snapshot, and from the 32nd on another one leaves the league; every
fifth writes a checkpoint and removes from the store what no checkpoint needs. Games are cut after 100
steps, so that they begin and end in every part of the run. The learning rate is so low that the last games
are like the first ones: what they take is compared.

After each iteration the memory of all processes is read, and the processor time of the learner and of all
runners. Those are compared in the last fifth with those in the second: the first is for warming up, and for
the league to become full. The exit code is 1 if the median memory is more than 2 % over, or if a second of
processor plays fewer than 0.9 times the steps; runs of fewer than 100 iterations are not judged. It needs Ray
with RLlib and torch (the extra ``rllib``), on Linux.
"""

import dataclasses
import gc
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import ray

from benchmarks import harness
from rllib_adapters.train.options import PRESETS, Training
from rllib_adapters.train.run import RAY, Run, kind_of, start_ray
from territorial.cli import options
from territorial.memory.measure import Memory, measure
from territorial.memory.plan import MB

CAPACITY = 32
"""Snapshots that the league keeps; a shorter run keeps fewer, so that it is full after a fifth."""
FLAT, STEADY = 1.02, 0.9
"""Times the memory of the second fifth at most, and times its speed at least."""
JUDGED = 100
"""Iterations from which on the bounds count; those of fewer are a matter of a few games."""
UNLIMITED = 10.0**6
"""Minutes that no run takes."""


def describe(memory: Memory) -> dict[str, Any]:
    """Return ``measure``, ``total`` and ``private`` of what was measured, and ``kinds``, bytes by process."""
    kinds: dict[str, int] = {}
    for process in memory.processes:
        kind = kind_of(process.pid, process.name)
        kinds[kind] = kinds.get(kind, 0) + process.nbytes
    return {"measure": memory.measure, "total": memory.total, "private": memory.private, "kinds": kinds}


def training_of(preset: str, iterations: int, runners: int) -> Training:
    """Return the options of the run: those of a preset, with the seats of the league at full size."""
    return dataclasses.replace(
        PRESETS[preset],
        height=256,
        width=256,
        decision_every=10,
        max_ticks=1000,
        agent_seats=8,
        snapshot_seats=12,
        bot_seats=12,
        capacity=min(CAPACITY, iterations // 5),
        freeze_every=1,
        iterations=iterations,
        minutes=UNLIMITED,
        env_runners=runners,
        torch_threads=1,
        num_games=2,
        iteration_steps=64,
        minibatch=128,
        learning_rate=1e-6,
        checkpoint_every=5,
    )


class Readings:
    """Reads memory and processor time after every iteration; ``rows`` has what was found."""

    def __init__(self, iterations: int) -> None:
        self.rows: list[dict[str, Any]] = []
        self._iterations = iterations

    def __call__(self, logged: dict[str, Any], seconds: int) -> None:
        """Add a row, and print it now and then; called by ``Run``."""
        gc.collect()
        memory = measure()
        own = [process for process in memory.processes if kind_of(process.pid, process.name) != RAY]
        self.rows.append(
            {
                "iteration": logged["iteration"],
                "steps": logged["steps"],
                "snapshots": logged["snapshots"],
                "processor_seconds": sum(harness.processor_seconds(process.pid for process in own).values()),
                "own": sum(process.nbytes for process in own),
                "own_private": sum(process.private for process in own),
                **describe(memory),
            }
        )
        if logged["iteration"] % max(1, self._iterations // 20) == 0:
            kinds = ", ".join(f"{kind} {size / MB:,.0f}" for kind, size in self.rows[-1]["kinds"].items())
            print(
                f"{logged['iteration']} of {self._iterations}, {seconds} s, {logged['snapshots']} snapshots: "
                f"{kinds} MB",
                flush=True,
            )


def soak(training: Training) -> list[dict[str, Any]]:
    """Train, and return what was read after each iteration."""
    watch = Readings(training.iterations)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder) / "run", training)
        try:
            run.train(watch)
        finally:
            run.close()
    return watch.rows


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return memory and speed of the last fifth over those of the second."""
    fifth = len(rows) // 5
    second, last = rows[fifth : 2 * fifth], rows[-fifth:]
    kept = {"growth": "own", "growth_of_private": "own_private", "growth_with_ray": "total"}
    found = {
        name: statistics.median(row[key] for row in last) / statistics.median(row[key] for row in second)
        for name, key in kept.items()
    }
    speed = _steps_per_second(last) / _steps_per_second(second)
    return found | {"speed": speed, "env_steps_per_process_second": _steps_per_second(rows[fifth:])}


def _steps_per_second(rows: list[dict[str, Any]]) -> float:
    first, last = rows[0], rows[-1]
    return float((last["steps"] - first["steps"]) / (last["processor_seconds"] - first["processor_seconds"]))


def main(argv: list[str] | None = None) -> int:
    """Train, print what was found and return the exit code."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "--iterations",
        type=options.whole(20, 10**6),
        default=500,
        help="training iterations of the run (default %(default)s)",
    )
    parser.add_argument(
        "--preset",
        choices=[name for name in PRESETS if name != "quick"],
        default="features",
        help="network and rates of the run (default %(default)s)",
    )
    parser.add_argument(
        "--env-runners",
        type=options.whole(0, 100),
        default=2,
        help="processes that collect samples (default %(default)s)",
    )
    parsed = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    training = training_of(parsed.preset, parsed.iterations, parsed.env_runners)
    start_ray(training.env_runners)
    start = time.perf_counter()
    rows = soak(training)
    seconds = time.perf_counter() - start
    ray.shutdown()
    found = summary(rows)
    print(
        f"{len(rows)} iterations in {seconds:,.0f} s. The last fifth over the second: "
        f"{found['growth']:.4f} times the memory ({rows[0]['measure']}; at most {FLAT}), "
        f"{found['growth_of_private']:.4f} times what no other process has, "
        f"{found['growth_with_ray']:.4f} with Ray's own; {found['speed']:.3f} times the steps a second of "
        f"processor (at least {STEADY}), {found['env_steps_per_process_second']:,.0f} of them"
    )
    harness.write(parsed.json, {"training": dataclasses.asdict(training), **found, "rows": rows})
    is_flat = found["growth"] <= FLAT and found["speed"] >= STEADY
    return int(not is_flat and len(rows) >= JUDGED)


if __name__ == "__main__":
    sys.exit(main())
