"""The parts of a training iteration, by processor time: leagues of the presets of ``territorial train``."""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from benchmarks import harness
from benchmarks.rllib.processor_time import Watch
from rllib_adapters.league.callback import keeper_of, league_in
from rllib_adapters.league.control import freeze, set_league
from rllib_adapters.train import run
from rllib_adapters.train.options import PRESETS as TRAINED
from rllib_adapters.train.options import Training

SMALL = {"height": 32, "width": 32, "max_ticks": 1000, "games": 4, "steps": 32, "minibatch": 64}
"""Options of every preset at the small size."""


@dataclass(frozen=True)
class Case:
    """A preset of ``territorial train``, and how much of it is measured."""

    snapshots: int
    """Those that the league has from the beginning."""
    iterations: int
    """Those that are counted, after a first one."""


PRESETS = {
    name: case
    for name, case in {
        "pairs": Case(40, 3),
        "features": Case(40, 3),
        "boards": Case(32, 1),
    }.items()
    if name in TRAINED
}
"""Those that there are, by name."""


def measured(name: str, size: str) -> dict[str, Any]:
    """Return the seconds of all parts of an iteration of a preset."""
    training, case = dataclasses.replace(TRAINED[name], runners=0), PRESETS[name]
    if size != "full":
        training = dataclasses.replace(training, **SMALL)
        case = dataclasses.replace(case, snapshots=4, iterations=1)
    harness.tell(f"{name}: building")
    return of_preset(name, training, case)


def of_preset(name: str, training: Training, case: Case) -> dict[str, Any]:
    """Return the median seconds of every part of an iteration, and what it was of."""
    with tempfile.TemporaryDirectory() as folder, built(Path(folder) / name, training) as algorithm:
        freeze_more(algorithm, case.snapshots)
        watches = []
        for number in range(case.iterations + 1):
            harness.tell(f"{name}: iteration {number}")
            watch = Watch()
            with watch.watching():
                algorithm.train()
            watches.append(watch)
        harness.tell("")
    counted = watches[1:]
    seconds = {part: statistics.median(one.seconds[part] for one in counted) for part in counted[0].seconds}
    return {
        "height": training.height,
        "players": training.num_players,
        "snapshots": case.snapshots,
        "env_steps": training.steps,
        "iterations": case.iterations,
        "seconds": {part: round(value, 4) for part, value in seconds.items()},
        "process_seconds": round(statistics.median(sum(one.seconds.values()) for one in counted), 3),
        "not_found": counted[0].missing,
    }


@contextmanager
def built(folder: Path, training: Training) -> Iterator[Any]:
    """Yield the algorithm of a run, all of which is in this process."""
    run.start_ray(training.runners)
    try:
        league_run = run.Run(folder, training)
        try:
            yield league_run.algorithm
        finally:
            league_run.close()
    finally:
        ray.shutdown()


def freeze_more(algorithm: Any, count: int) -> None:
    """Freeze copies of the learner until the league has ``count`` snapshots."""
    league, keeper = league_in(algorithm), keeper_of(algorithm)
    while len(league.snapshots) < count:
        name = league.next_name("main")
        about = {"run": keeper.run, "learner": "main", "step": league.steps["main"]}
        freeze(algorithm, keeper.store, name, module="main", **about)
        league.freeze("main")
    set_league(algorithm, league.table())


def text_of(name: str, found: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """Return the parts of an iteration in lines, beside those of before."""
    was = None if before is None else before["seconds"] | {"all of it": before["process_seconds"]}
    now = found["seconds"] | {"all of it": found["process_seconds"]}
    lines = [f"{name}: seconds of processor in an iteration of {found['env_steps']:,} environment steps"]
    for part, seconds in now.items():
        share = 100 * seconds / found["process_seconds"]
        line = f"  {part:22}{seconds:9.3f}{share:7.1f} %"
        if was is not None and part in was:
            line += f"  before {was[part]:9.3f}"
        lines.append(line)
    lines += [f"  not in this version: {place}" for place in found["not_found"]]
    return "\n".join(lines)
