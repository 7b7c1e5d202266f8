#!/usr/bin/env python3
"""Times the parts of iterations by runners, games and learners, and reads their memory.

    python benchmarks/rllib/scaling.py --file scaling.jsonl            all points, half an hour or more
    python benchmarks/rllib/scaling.py --file scaling.jsonl --points 8   eight more of them
    python benchmarks/rllib/scaling.py --file scaling.jsonl --table    print what the file has

A point is an algorithm with the options of a preset of ``territorial train``, in processes of its own. It is
trained for some iterations after a first one that is not counted. Each point is a line of the file once it is
measured, and the same command goes on with those that the file lacks.

Seconds are those of the processor, by kind of process: what a runner, a learner and the driver compute is
nearly the same on a busy machine, where the time on the wall says little. Runners and learners in the driver
are timed by their calls. Points of memory have the sum over all processes, as PSS, at the worst of the
moments at which it was read. It needs Ray with RLlib and torch (the extra ``rllib``), on Linux.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import torch
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.ppo import PPOConfig

from benchmarks import harness
from rllib_adapters.train.options import PRESETS
from rllib_adapters.train.run import configured, parameters_of, start_ray
from rllib_adapters.train.scaling import timed
from territorial.cli import options
from territorial.league import SnapshotStore
from territorial.memory.guard import MemoryGuard
from territorial.memory.measure import measure
from territorial.memory.plan import MB
from territorial.memory.predict import predict

ALGORITHMS = {"PPO": PPOConfig, "APPO": APPOConfig}
MOST_MEMORY = 20_000 * MB
"""Where a point of memory is broken off."""
SECONDS = 6.0
"""A point is trained for so long, and for two iterations at least."""


@dataclass(frozen=True)
class Point:
    """What is measured."""

    preset: str
    runners: int
    games: int
    learners: int = 0
    algorithm: str = "PPO"
    runner: str = "batched"
    reads_memory: bool = False


def points() -> list[Point]:
    """Return all points, those first of which the rates are."""
    found = [Point(name, 0, preset.num_games) for name, preset in PRESETS.items()]
    found += [Point(name, 1, PRESETS[name].num_games) for name in ("pairs", "features")]
    found += [Point("pairs", runners, 64, reads_memory=True) for runners in (0, 1, 4, 16, 32)]
    found += [Point(name, 1, PRESETS[name].num_games, algorithm="APPO") for name in ("pairs", "features")]
    for name in ("pairs", "features"):
        found += [Point(name, 0, games) for games in (1, 4, 16, 64)]
        found += [Point(name, runners, games) for games in (4, 16, 64) for runners in (1, 2)]
        found += [Point(name, 1, 16, learners) for learners in (1, 2)]
        found += [Point(name, runners, 16, runner="stock") for runners in (0, 1)]
        found += [Point(name, 2, games, algorithm="APPO") for games in (16, 64)]
    found += [Point("boards", 0, 4), Point("boards", 1, 2), Point("boards", 2, 2)]
    return list(dict.fromkeys(found))


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("--file", type=Path, required=True, help="file of the points, a line of JSON each")
    parser.add_argument(
        "--points",
        type=options.whole(1, 60),
        default=60,
        help="points to measure in this call at most (default %(default)s)",
    )
    parser.add_argument("--table", action="store_true", help="measure nothing, and print what the file has")
    parser.add_argument(
        "--only", metavar="POINT", help="measure this one in this process; for the benchmark's own use"
    )
    parsed = parser.parse_args(argv)
    if parsed.only:
        print(json.dumps(measured(Point(**json.loads(parsed.only)))))
        return 0
    rows = read(parsed.file)
    missing = [point for point in points() if dataclasses.asdict(point) not in [row["point"] for row in rows]]
    for number, point in enumerate([] if parsed.table else missing[: parsed.points], start=1):
        harness.progress(f"{number} of {len(missing)}: {point}"[:60])
        text = json.dumps(dataclasses.asdict(point))
        command = [
            sys.executable,
            "-m",
            "benchmarks.rllib.scaling",
            "--file",
            str(parsed.file),
            "--only",
            text,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{point}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            continue
        with parsed.file.open("a") as file:
            file.write(done.stdout.splitlines()[-1] + "\n")
    rows = read(parsed.file)
    print(table(rows))
    harness.write(parsed.json, {"rows": rows})
    return 0


def read(path: Path) -> list[dict[str, Any]]:
    """Return what a file of points has; none if it is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# ---- a point -----------------------------------------------------------------------------------------


def measured(point: Point) -> dict[str, Any]:
    """Return what an algorithm takes for an iteration, and in memory."""
    warnings.simplefilter("ignore")
    preset = PRESETS[point.preset]
    training = dataclasses.replace(preset, env_runners=point.runners, num_games=point.games)
    torch.set_num_threads(training.torch_threads)
    start_ray(point.runners + point.learners)
    with tempfile.TemporaryDirectory() as folder:
        store = SnapshotStore(Path(folder) / "store")
        config = configured(training, store, ALGORITHMS[point.algorithm](), point.runner)
        config.learners(num_learners=point.learners)
        algorithm = config.build_algo()
        try:
            spent: dict[str, list[float]] = {"sampling": [], "learning": []}
            if point.algorithm == "PPO" and not point.runners:
                spent["sampling"] = timed(algorithm.env_runner, "sample")
            if point.algorithm == "PPO" and not point.learners:
                spent["learning"] = timed(algorithm.learner_group._learner, "update")
            found = trained_with_memory(algorithm) if point.reads_memory else trained(algorithm, spent)
        finally:
            algorithm.stop()
            ray.shutdown()
    setup = training.setup(parameters_of(training))
    about = {"date": time.strftime("%Y-%m-%d"), "predicted": predict(setup, training.net.obs).peak}
    return {"point": dataclasses.asdict(point), **found, **about}


def trained(algorithm: Any, spent: dict[str, list[float]]) -> dict[str, Any]:
    """Return steps and seconds of some iterations."""
    steps, work = sampled(algorithm.train()), processes_of(algorithm)
    before, began = seconds_of(work), time.perf_counter()
    for seconds in spent.values():
        seconds.clear()
    iterations = 0
    while iterations < 2 or time.perf_counter() - began < SECONDS:
        result = algorithm.train()
        iterations += 1
    wall, own = time.perf_counter() - began, {what: sum(seconds) for what, seconds in spent.items()}
    used = {what: total - before[what] for what, total in seconds_of(work).items()}
    return {
        "iterations": iterations,
        "steps": sampled(result) - steps,
        "wall": wall,
        "sampling": used["sampling"] + own["sampling"],
        "learning": used["learning"] + own["learning"],
        "rest": used["driver"] - sum(own.values()),
    }


def sampled(result: dict[str, Any]) -> int:
    """Return the environment steps so far."""
    return int(result["env_runners"]["num_env_steps_sampled_lifetime"])


def processes_of(algorithm: Any) -> dict[str, list[int]]:
    """Return the processes of an algorithm by what they do, those of Ray aside."""
    own = os.getpid()
    runners = algorithm.env_runner_group.foreach_env_runner(lambda _: os.getpid())
    learners = algorithm.learner_group.foreach_learner(lambda _: os.getpid())
    found = {"sampling": runners, "learning": [one.get() for one in learners]}
    return {"driver": [own]} | {what: [pid for pid in pids if pid != own] for what, pids in found.items()}


def seconds_of(work: dict[str, list[int]]) -> dict[str, float]:
    """Return the seconds of processor of processes so far, by what they do."""
    return {what: sum(harness.processor_seconds(pids).values()) for what, pids in work.items()}


def trained_with_memory(algorithm: Any) -> dict[str, Any]:
    """Return the memory of all processes when built, and the most in three iterations."""
    built = measure().total
    with MemoryGuard(MOST_MEMORY), harness.Peak() as peak:
        for _ in range(3):
            algorithm.train()
    return {"built": built, "peak": peak.total}


# ---- the tables --------------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]]) -> str:
    """Return rates and memory as text; seconds and steps are those of an iteration."""
    lines = [
        (
            "preset",
            "algorithm",
            "runner",
            "R",
            "games",
            "K",
            "steps",
            "wall",
            "sampling",
            "learning",
            "rest",
            "r",
            "l",
        )
    ]
    memory = [("preset", "R", "built", "peak", "predicted peak")]
    for row in rows:
        point = Point(**row["point"])
        if point.reads_memory:
            sizes = (f"{row[name] / MB:,.0f} MB" for name in ("built", "peak", "predicted"))
            memory.append((point.preset, str(point.runners), *sizes))
            continue
        seats, count = PRESETS[point.preset].agent_seats, row["iterations"]
        parts = (f"{row[name] / count:.3f}" for name in ("wall", "sampling", "learning", "rest"))
        learning = row["learning"] or row["rest"]
        rates = f"{row['steps'] / row['sampling']:,.0f}", f"{row['steps'] * seats / learning:,.0f}"
        what = (
            point.preset,
            point.algorithm,
            point.runner,
            *map(str, (point.runners, point.games, point.learners)),
        )
        lines.append((*what, f"{row['steps'] / count:,.0f}", *parts, *rates))
    return f"{options.aligned(lines, 'lllrrrrrrrrrr')}\n\n{options.aligned(memory, 'lrrrr')}"


if __name__ == "__main__":
    sys.exit(main())
