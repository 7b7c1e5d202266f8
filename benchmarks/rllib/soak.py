#!/usr/bin/env python3
"""Trains a league for long, watching memory, files, threads, disk and speed.

    python benchmarks/rllib/soak.py --minutes 90 --plot FILE    the preset pairs, two runners, a picture
    python benchmarks/rllib/soak.py --algorithm appo            APPO; twenty minutes
    python benchmarks/rllib/soak.py --algorithm dqn             DQN, whose buffer is soon full
    python benchmarks/rllib/soak.py --runner stock              RLlib's own runner
    python benchmarks/rllib/soak.py --environment battle        MAgent2's, by ``add_league``; PPO
    python benchmarks/rllib/soak.py --minutes 0.5               whether it runs, as in CI

It is ``territorial train`` with the network and the games of a preset, and iterations of a quarter of the
steps, so that there are many. Every second iteration a copy of the network becomes a snapshot, and once the
league is full another one leaves it; every fifth writes a checkpoint and removes from the store what no
checkpoint needs; every twentieth evaluates in a process of its own. The learning rate is so low that the last
games are like the first ones: what they take is compared.

Every few seconds the memory, open files and threads of all processes are read, with the bytes of the store
and of the checkpoints. Memory is what lies in no file: pages of libraries are private to a process or shared
according to which other programs run, and the system can take them back. The last third of the run is
compared with the second; the first is for warming up, and for the league to become full. The slope of each
process's memory is a line through twelve means of these two thirds, because readings that follow each other
are alike; its interval is Student's. The exit code is 1 if a bound is exceeded; runs of less than ten minutes
are not judged. A process that grows is reported with the mappings that do. It needs Ray with RLlib and torch
(the extra ``rllib``), on Linux.
"""

import dataclasses
import gc
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env
from scipy.stats import linregress, t

from benchmarks import harness
from rllib_adapters import add_league, configure_league
from rllib_adapters.train.options import CHECKPOINTS, PRESETS, SNAPSHOTS, Training
from rllib_adapters.train.run import DRIVER, RAY, Run, configured, kind_of, start_ray
from territorial.cli import options
from territorial.league import Gate, League, LeagueConfig, Learner, Opponents, SnapshotStore
from territorial.memory.measure import ProcessMemory, measure
from territorial.memory.plan import MB

REPLAYED, FRAGMENT = 200_000, 16
"""Agent steps in the buffer of DQN, and the steps of each game in one of its samples."""
GROWTH, SLOPE, SPEED = 1.01, 2.0, 0.95
"""Bounds: times the second third's memory and disk, MB an hour of a process, times its speed."""
JUDGED = 10.0
"""Minutes from which on the bounds count."""
READ_EVERY = 5.0
"""Seconds between readings, at least."""
BLOCKS = 12
"""Means that a slope is found from."""
UNLIMITED = 10**6
"""Iterations that no run reaches."""


def training_of(preset: str, minutes: float, runners: int) -> Training:
    """Return the options of the run."""
    chosen = PRESETS[preset]
    return dataclasses.replace(
        chosen,
        freeze_every=2,
        capacity=20,
        iterations=UNLIMITED,
        minutes=minutes,
        env_runners=runners,
        torch_threads=1,
        iteration_steps=chosen.iteration_steps // 4,
        minibatch=chosen.minibatch // 4,
        learning_rate=1e-6,
        checkpoint_every=5,
    )


Configured = Callable[[Training, SnapshotStore], AlgorithmConfig]


class Soaked(Run):
    """A run of a configuration of its own, which also evaluates."""

    def __init__(self, folder: Path, training: Training, configured: Configured) -> None:
        self._configured = configured
        super().__init__(folder, training)

    def _build(self) -> Algorithm:
        config = self._configured(self.training, self.store)
        config.evaluation(evaluation_interval=20, evaluation_num_env_runners=1, evaluation_duration=2)
        return config.build_algo()


def of_ppo(training: Training, store: SnapshotStore, runner: str) -> AlgorithmConfig:
    """Return the configuration of ``territorial train``."""
    return configured(training, store, PPOConfig().training(use_kl_loss=False), runner)


def of_appo(training: Training, store: SnapshotStore, runner: str) -> AlgorithmConfig:
    """Return the same with APPO."""
    config = configured(training, store, APPOConfig().training(use_kl_loss=False), runner)
    config.training(minibatch_size=None, num_epochs=1)
    return config.reporting(min_time_s_per_iteration=0)


def of_dqn(training: Training, store: SnapshotStore, runner: str) -> AlgorithmConfig:
    """Return the same games with DQN."""
    config = configure_league(
        DQNConfig(), training.env_config(), League(training.league_config()), store, runner=runner
    )
    config.env_runners(
        num_env_runners=training.env_runners,
        num_envs_per_env_runner=training.num_games,
        rollout_fragment_length=FRAGMENT,
        create_local_env_runner=False,
    )
    config.reporting(min_time_s_per_iteration=0)
    return config.training(
        replay_buffer_config={"capacity": REPLAYED},
        train_batch_size_per_learner=training.minibatch,
        training_intensity=1,
        lr=training.learning_rate,
    )


def of_battle(training: Training, store: SnapshotStore) -> AlgorithmConfig:
    """Return a league of another environment, which RLlib's own runner plays."""
    from benchmarks.rllib import any_env  # magent2 is not in any extra

    register_env("battle", any_env.battle)
    config = PPOConfig().environment("battle")
    config.env_runners(num_env_runners=training.env_runners, num_envs_per_env_runner=4)
    config.training(
        train_batch_size_per_learner=400, minibatch_size=400, num_epochs=1, lr=training.learning_rate
    )
    gate = Gate(max_steps=training.freeze_every)
    main = Learner(name="main", opponents=(Opponents(seats=1, strategy="uniform"),), gate=gate)
    rules = LeagueConfig(
        env="battle", num_players=2, learners=(main,), shuffle=True, capacity=training.capacity
    )
    modules = {"main": (any_env.Net, {"width": any_env.WIDTH})}
    return add_league(config, League(rules), store, modules=modules, seat_of=any_env.side_of)


ALGORITHMS = {"ppo": of_ppo, "appo": of_appo, "dqn": of_dqn}


class Readings:
    """Reads what all processes hold every few seconds; called by ``Run`` after each iteration.

    They lie in a file, as in memory they would make the driver grow. ``mappings`` has the bytes of each
    process's mappings after a third of the run: those that a growing process is compared with.
    """

    def __init__(self, folder: Path, minutes: float) -> None:
        self._file = folder / "readings.jsonl"
        self.mappings: dict[str, Counter[str]] = {}
        self._folder, self._seconds = folder, 60 * minutes
        self._next_reading = self._next_line = 0.0

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was found, in the order of time."""
        with open(self._file, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def __call__(self, logged: dict[str, Any], seconds: int) -> None:
        """Add a row if it is time for one, and print a line now and then."""
        if seconds < self._next_reading:
            return
        gc.collect()
        memory = measure()
        used = harness.processor_seconds(process.pid for process in memory.processes)
        row = {
            "minutes": seconds / 60,
            "iteration": logged["iteration"],
            "steps": logged["steps"],
            "snapshots": logged["snapshots"],
            "held": memory.held,
            "disk": sum(map(_bytes_below, (self._folder / SNAPSHOTS, self._folder / CHECKPOINTS))),
            "processes": {
                str(process.pid): {
                    "kind": _kind(process),
                    "memory": sum(mapped(process.pid).values()),
                    "files": _entries(process.pid, "fd"),
                    "threads": _entries(process.pid, "task"),
                    "processor_seconds": used.get(process.pid, 0.0),
                }
                for process in memory.processes
            },
        }
        with open(self._file, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
        self._next_reading = seconds + READ_EVERY
        if not self.mappings and seconds >= self._seconds / 3:
            self.mappings = {str(process.pid): mapped(process.pid) for process in memory.processes}
        if seconds >= self._next_line:
            self._next_line = seconds + self._seconds / 20
            kinds = ", ".join(f"{kind} {size / MB:,.0f}" for kind, size in _by_kind(row).items())
            print(
                f"{seconds / 60:.1f} minutes, iteration {logged['iteration']}, {logged['snapshots']} "
                f"snapshots, MB: {kinds}",
                flush=True,
            )


def mapped(pid: int | str) -> Counter[str]:
    """Return the bytes of a process that lie in no file, by what is mapped where they are."""
    found, name = Counter[str](), ""
    try:
        lines = (harness.PROC / str(pid) / "smaps").read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return found
    for line in lines:
        first, *rest = line.split()
        if not first.endswith(":"):
            name = rest[4] if len(rest) > 4 else "anonymous"
        elif first == "Anonymous:":
            found[name] += 1024 * int(rest[0])
    return found


def _kind(process: ProcessMemory) -> str:
    """Return "driver", "Ray" or, of all other actors, "runner"."""
    kind = kind_of(process.pid, process.name)
    return kind if kind in (DRIVER, RAY) else "runner"


def _entries(pid: int, name: str) -> int:
    try:
        return len(list((harness.PROC / str(pid) / name).iterdir()))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _by_kind(row: dict[str, Any]) -> dict[str, int]:
    kinds = Counter[str]()
    for process in row["processes"].values():
        kinds[process["kind"]] += process["memory"]
    return dict(sorted(kinds.items()))


def slope(hours: Any, sizes: Any) -> tuple[float, float]:
    """Return the growth of ``sizes``, in MB an hour, and half of its 95 % interval."""
    blocks = [
        (np.mean(some), np.mean(of))
        for some, of in zip(np.array_split(hours, BLOCKS), np.array_split(sizes, BLOCKS), strict=True)
    ]
    line = linregress(*np.transpose(blocks))
    return float(line.slope) / MB, float(line.stderr * t.ppf(0.975, BLOCKS - 2)) / MB


def judged(readings: Readings) -> Iterator[tuple[bool, str]]:
    """Yield whether a bound is kept, with what was found, for each of them."""
    rows = readings.rows
    third = len(rows) // 3
    second, last = rows[third : 2 * third], rows[2 * third :]
    for name, text in (("held", "memory of all processes"), ("disk", "store and checkpoints")):
        before, after = (statistics.median(row[name] for row in part) for part in (second, last))
        yield (
            after <= GROWTH * before,
            f"{text}: {before / MB:,.1f}, then {after / MB:,.1f} MB (medians), {after / before:.4f} times",
        )
    speeds = _steps_per_second(second), _steps_per_second(last)
    yield (
        speeds[1] >= SPEED * speeds[0],
        f"steps a second of processor: {speeds[0]:,.0f}, then {speeds[1]:,.0f}, "
        f"{speeds[1] / speeds[0]:.3f} times",
    )
    lasting = [pid for pid in last[-1]["processes"] if all(pid in row["processes"] for row in second + last)]
    hours = [row["minutes"] / 60 for row in second + last]
    for pid in lasting:
        series = [row["processes"][pid] for row in second + last]
        grows, half = slope(hours, [one["memory"] for one in series])
        kind = series[0]["kind"]
        if kind != RAY:
            yield (
                grows + half <= SLOPE,
                f"{kind} {pid}: {grows:+.2f} ± {half:.2f} MB an hour, of "
                f"{series[-1]['memory'] / MB:,.0f} MB{_grown(readings, pid, grows + half > SLOPE)}",
            )
        for name in ("files", "threads"):
            before, after = (max(row["processes"][pid][name] for row in part) for part in (second, last))
            if after > before or kind != RAY:
                yield after <= before, f"{kind} {pid}: at most {before:,}, then {after:,} {name}"


def _grown(readings: Readings, pid: str, is_wanted: bool) -> str:
    """Return what of a process has grown most since a third of the run."""
    if not is_wanted or pid not in readings.mappings:
        return ""
    grown = mapped(pid)
    grown.subtract(readings.mappings[pid])
    return "; " + ", ".join(f"{name} {size / MB:+.1f} MB" for name, size in grown.most_common(3))


def _steps_per_second(rows: list[dict[str, Any]]) -> float:
    """Return the steps a second that all own processes together have computed."""
    first, last = (
        sum(one["processor_seconds"] for one in row["processes"].values() if one["kind"] != RAY)
        for row in (rows[0], rows[-1])
    )
    return float((rows[-1]["steps"] - rows[0]["steps"]) / (last - first))


def plot(rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """Draw the memory by kind of process over minutes."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    minutes, kinds = [row["minutes"] for row in rows], [_by_kind(row) for row in rows]
    for kind in sorted(set().union(*kinds)):
        axes.plot(minutes, [found.get(kind, 0) / MB for found in kinds], label=kind)
    axes.plot(minutes, [row["held"] / MB for row in rows], "k--", label="all")
    axes.set(xlabel="minutes", ylabel="MB in no file", ylim=(0, None), title=title)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, dpi=100)


def main(argv: list[str] | None = None) -> int:
    """Train, print what was found and return the exit code."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "--minutes", type=float, default=20.0, help="minutes of training (default %(default)s)"
    )
    parser.add_argument(
        "--preset",
        choices=[name for name in PRESETS if name != "quick"],
        default="pairs",
        help="network and games of the run (default %(default)s)",
    )
    parser.add_argument(
        "--algorithm", choices=ALGORITHMS, default="ppo", help="what trains (default %(default)s)"
    )
    parser.add_argument(
        "--runner", choices=["batched", "stock"], default="batched", help="what plays (default %(default)s)"
    )
    parser.add_argument(
        "--environment",
        choices=["territorial", "battle"],
        default="territorial",
        help="what is played; battle, with PPO and RLlib's runner, needs magent2 (default %(default)s)",
    )
    parser.add_argument(
        "--env-runners",
        type=options.whole(0, 100),
        default=2,
        help="processes that collect samples (default %(default)s)",
    )
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw memory over minutes into FILE")
    parsed = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    training = training_of(parsed.preset, parsed.minutes, parsed.env_runners)
    title = f"{parsed.algorithm.upper()}, {parsed.preset}, {parsed.runner} runner"
    own: Configured = partial(ALGORITHMS[parsed.algorithm], runner=parsed.runner)
    if parsed.environment == "battle":
        title, own = "PPO, battle, RLlib's runner", of_battle
    start_ray(training.env_runners + 1)  # and one that evaluates
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = Soaked(Path(folder) / "run", training, own)
        readings = Readings(run.folder, parsed.minutes)
        try:
            run.train(readings)
            rows, found = readings.rows, list(judged(readings))
        finally:
            run.close()
    ray.shutdown()
    print(
        f"{title}: {rows[-1]['iteration']} iterations in {time.perf_counter() - start:,.0f} s, "
        f"{rows[-1]['steps']:,} steps. "
        "The second third of the run, then the last:"
    )
    for is_kept, text in found:
        print(f"{'      ' if is_kept else 'GROWS '}{text}")
    harness.write(parsed.json, {"training": dataclasses.asdict(training), "rows": rows})
    if parsed.plot is not None:
        plot(rows, title, parsed.plot)
    return int(parsed.minutes >= JUDGED and not all(is_kept for is_kept, _ in found))


if __name__ == "__main__":
    sys.exit(main())
