#!/usr/bin/env python3
"""Trains in several ways for the same processor time, each with several seeds, and compares their strength.

    python examples/champion.py runs/champion                             what most arms start from
    python benchmarks/bots/champion_roads.py runs/champion                many hours; resumes where it stopped
    python benchmarks/bots/champion_roads.py runs/champion --only default all-rows --minutes-each 10

The arms are ways to train. ``default`` is examples/pairs_ppo.py as examples/champion.py runs it, from the
clone. Each of the others says what differs, and from which arm. Arms that start from nothing also get the
time that the style, its games and the clone took. The processor time is that of all processes of an arm,
until it has written its network.

Every network plays a short examination on maps and seeds of no training: games at full size, two seats of 32
against mixed-2, and small ones, two of 12 against ten of each bot. Intervals, of 95 per cent, are over seeds.
A gain is over the arm that it differs from, seed by seed. What examples/pairs_ppo.py trained plays its
likeliest action, and is examined once more where it draws its actions: after a short training the likeliest
may always be to hold, and ``holds`` says so.

An arm and seed that is done is not run again; one that was stopped begins again. The result, with the machine
and the versions, goes to benchmarks/results/champion_roads.json after every run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import territorial
from benchmarks import harness
from benchmarks.bots.exam_games import Examined
from benchmarks.bots.metered import CommandFailedError, minutes, run_for
from benchmarks.bots.road_folders import CLONED, make_untrained, preparation
from benchmarks.bots.short_exam import FIGURES, HOLDS, ShortExam, add_options, line_of, over_runs, spread_of
from territorial.bots import Network
from territorial.cli import options
from territorial.files.atomic import write_file
from territorial.league import SnapshotStore

RESULT = harness.RESULTS / "champion_roads.json"
DEFAULT = "default"
RLLIB_PAIRS = "rllib-pairs"
START_UP = 0.2
"""Minutes of processor time that examples/pairs_ppo.py takes to start and to end, beside its own count."""
POINTS = 10
"""Networks that a run of examples/pairs_ppo.py keeps on its way, for ``champion_curve.py``."""
QUICK_MINUTES = 10.0
"""The limit of an arm in a short look, which ends after one update."""
INTERVAL = 50
"""Ticks between decisions of networks that RLlib trains: those of its presets on pairs."""


class Arm(NamedTuple):
    """A way to train."""

    differs: str
    """What differs from the arm ``of``, in words."""
    options: Mapping[str, object] = {}
    """Options of the trainer: examples/pairs_ppo.py, or ``territorial train``."""
    starts: bool = True
    """It starts from the clone, not from nothing."""
    rllib: bool = False
    of: str = DEFAULT
    temperature: float = 0.0
    """1: the trained network draws its actions, as one that the engine does not play has to."""


ARMS: dict[str, Arm] = {
    DEFAULT: Arm("nothing: `examples/pairs_ppo.py` from the clone"),
    "nothing": Arm("from nothing", starts=False),
    "nothing-faster": Arm(
        "from nothing, learning rate 3e-4, 1e-5 at last",
        {"learning-rate": 3e-4, "last-rate": 1e-5},
        starts=False,
    ),
    "one-clock": Arm("bots decide every 10 ticks in all games", {"slow": 0}),
    "every-10": Arm("decides every 10 ticks", {"interval": 10}),
    "every-50": Arm("decides every 50 ticks", {"interval": 50}),
    "every-100": Arm("decides every 100 ticks", {"interval": 100}),
    "no-smoothing": Arm("fractions that are hardly ever chosen are not tried", {"smoothing": 0}),
    "all-rows": Arm("learns from all rows, not from 0.35 of them", {"share": 1}),
    "placement": Arm("reward of placement alone, without land", {"rewards": "placement=1"}),
    "no-past": Arm("bots alone: no snapshots of its own past", {"past": 0}),
    "no-focus": Arm("every opponent drawn by itself", {"focus": 0}),
    "no-weighting": Arm("hard opponents no more often than others", {"power": 0}),
    "two-seats": Arm("two seats learn in every game", {"seats": "2", "full-seats": "2"}),
    "small-games": Arm("no games at full size", {"full-games": 0}),
    "rllib": Arm("`territorial train --preset champion`, from the clone", {"preset": "champion"}, rllib=True),
    RLLIB_PAIRS: Arm(
        "`territorial train --preset pairs`, from nothing",
        {"preset": "pairs"},
        starts=False,
        rllib=True,
        temperature=1.0,
    ),
    "rllib-features": Arm(
        "features in place of pairs",
        {"preset": "pairs", "network": "features"},
        starts=False,
        rllib=True,
        of=RLLIB_PAIRS,
        temperature=1.0,
    ),
    "rllib-boards": Arm(
        "boards in place of pairs, by the encode-once network",
        {"preset": "pairs", "network": "encode_once"},
        starts=False,
        rllib=True,
        of=RLLIB_PAIRS,
        temperature=1.0,
    ),
}
"""The arms by name, those first that others differ from."""
QUICK_ARMS = DEFAULT, "all-rows"
QUICK_RLLIB = {
    "iterations": 1,
    "env-runners": 0,
    "num-games": 2,
    "iteration-steps": 32,
    "minibatch": 16,
    "capacity": 6,
    "epochs": 1,
}


def main(argv: list[str] | None = None) -> int:
    """Train, examine, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("road", type=Path, help="folder that examples/champion.py made")
    parser.add_argument(
        "--folder", metavar="FOLDER", type=Path, help="folder of all runs (default ROAD-roads)"
    )
    parser.add_argument(
        "--minutes-each",
        type=minutes,
        default=20.0,
        help="processor time of each training (default %(default)g)",
    )
    parser.add_argument(
        "--seeds", type=options.whole(1, 100), default=3, help="trainings of each case (default %(default)s)"
    )
    parser.add_argument(
        "--only", nargs="+", choices=ARMS, metavar="ARM", help=f"case to measure; {', '.join(ARMS)}"
    )
    add_options(parser, 400, RESULT)
    parsed = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        if parsed.quick:
            parsed.only, parsed.seeds, parsed.games = parsed.only or QUICK_ARMS, 1, 10
            parsed.road, parsed.folder = Path(temporary, "road"), Path(temporary, "runs")
            make_untrained(parsed.road)
        try:
            compare(parsed)
        except (ValueError, OSError, CommandFailedError) as error:
            print(f"champion_roads: {error}", file=sys.stderr)
            return 1
    return 0


def compare(parsed: argparse.Namespace) -> None:
    """Run and examine what is missing; print and write after every run."""
    folder = parsed.folder or Path(f"{parsed.road}-roads")
    roads = Roads(parsed.road, folder, parsed.minutes_each, quick=parsed.quick)
    exam = ShortExam(folder / "exams", parsed.games, parsed.threads)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in ARMS if name in (parsed.only or ARMS)}
    for seed in range(parsed.seeds):
        for name, done in runs.items():
            used = roads.trained(name, seed)
            harness.tell(f"{name}, seed {seed}: examination")
            found = exam.examined(roads.seat(name, seed, ARMS[name].temperature))
            drawn = exam.examined(roads.seat(name, seed, 1.0))
            done.append({"seed": seed, "processor_minutes": round(used, 2), "exam": found, "drawn": drawn})
            harness.tell("")
            print(f"{name}, seed {seed}, {used:.1f} min: {line_of(found)}", flush=True)
            print(f"  where it draws its actions: {line_of(drawn)}", flush=True)
            about = {"minutes": parsed.minutes_each, "preparation_minutes": preparation(parsed.road)}
            harness.write(parsed.json, about | result_of(runs, parsed.games))


class Roads:
    """Trainings in a folder, by arm and seed."""

    def __init__(self, road: Path, folder: Path, each: float, *, quick: bool) -> None:
        self._road, self._folder, self._quick = road.absolute(), folder.absolute(), quick
        self._each = QUICK_MINUTES if quick else each
        self._champion = harness.example("champion")

    def trained(self, name: str, seed: int) -> float:
        """Train where that is not done yet, and return the minutes of processor time that it took.

        ValueError where it was done with other options.
        """
        folder, most = self._at(name, seed), self._minutes_of(ARMS[name])
        about = folder / "done.json"
        asked = {"minutes": most, "command": self.command(name, seed)}
        if about.exists():
            kept = json.loads(about.read_bytes())
            if kept["asked"] != asked:
                raise ValueError(f"{str(folder)!r} was trained by other options; name another --folder")
            return float(kept["processor_minutes"])
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

        def told(seconds: float) -> None:
            harness.tell(f"{name}, seed {seed}: {seconds / 60:.1f} of {most:.1f} minutes of processor time")

        used = run_for(self.command(name, seed), 60 * most, folder / "log.txt", told) / 60
        self.seat(name, seed, 1.0)  # raises where there is none
        write_file(about, json.dumps({"asked": asked, "processor_minutes": used}).encode())
        return used

    def command(self, name: str, seed: int) -> list[str]:
        """Return what trains, as arguments of Python."""
        arm = ARMS[name]
        start = {"start": self._road / CLONED} if arm.starts else {}
        common = {**arm.options, **start, "seed": seed}
        run = self._at(name, seed) / "run"
        if arm.rllib:
            given = {**common, "minutes": 1e6, **(QUICK_RLLIB if self._quick else {})}
            return ["-m", "territorial", "train", str(run), *self._champion.written(given)]
        usual = self._champion.QUICK | {"updates": 1} if self._quick else self._champion.TRAINING
        own = max(self._minutes_of(arm) - START_UP, self._minutes_of(arm) / 2)
        given = {**usual, **common, "save": run, "minutes": own, "history-every": own / POINTS}
        return [str(harness.EXAMPLES / "pairs_ppo.py"), *self._champion.written(given)]

    def seat(self, name: str, seed: int, temperature: float) -> Examined:
        """Return what was trained, as a seat; ValueError where the time was too short for anything.

        ``temperature``: 0 plays the likeliest action, 1 draws; what acts outside the engine always draws.
        """
        arm, run = ARMS[name], self._at(name, seed) / "run"
        if not arm.rllib:
            return Network(run / "network.safetensors", temperature=temperature)
        from benchmarks.bots.trained_seats import seat_of_snapshot
        from rllib_adapters.train.run import LAST, SNAPSHOTS

        store = SnapshotStore(run / SNAPSHOTS)
        if LAST not in store:
            raise ValueError(f"{str(run)!r} has no trained network; give it more than {self._each:g} minutes")
        return seat_of_snapshot(store, LAST, run.parent, interval=INTERVAL, temperature=temperature)

    def _minutes_of(self, arm: Arm) -> float:
        return self._each if arm.starts else self._each + preparation(self._road)

    def _at(self, name: str, seed: int) -> Path:
        return self._folder / name / f"seed-{seed}"


# ---- what comes of it --------------------------------------------------------------------------------


def result_of(runs: Mapping[str, list[dict[str, Any]]], games: int) -> dict[str, Any]:
    """Return the result of all runs so far."""
    arms = {name: dict(_about(name, done, runs)) for name, done in runs.items() if done}
    return {"rules_version": territorial.RULES_VERSION, "games": games, "arms": arms}


def _about(
    name: str, done: list[dict[str, Any]], runs: Mapping[str, list[dict[str, Any]]]
) -> Iterator[tuple[str, Any]]:
    arm = ARMS[name]
    yield from {"differs": arm.differs, "of": arm.of, "rllib": arm.rllib, "from_clone": arm.starts}.items()
    yield "runs", done
    yield "mean", over_runs(done)
    yield "mean_drawn", over_runs(done, "drawn")
    yield HOLDS, sum(run["exam"][HOLDS] for run in done)
    if name != arm.of and (pairs := list(zip(done, runs.get(arm.of, []), strict=False))):
        for gain, exam in (("gain", "exam"), ("gain_drawn", "drawn")):
            yield gain, {key: spread_of([_gained(exam, key, *pair) for pair in pairs]) for key in FIGURES}


def _gained(exam: str, key: str, run: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    return float(run[exam][key]["value"] - other[exam][key]["value"])


if __name__ == "__main__":
    sys.exit(main())
