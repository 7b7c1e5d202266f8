#!/usr/bin/env python3
"""The same road from several seeds: the processor time of each step, the strength, and how far they differ.

    python examples/champion.py runs/champion
    python examples/champion.py runs/second --seed 1
    python examples/champion.py runs/third --seed 2
    python benchmarks/bots/champion_seeds.py runs/champion runs/second runs/third

The network of each plays games at full size, two seats of 32 against mixed-2, and small ones, two of 12
against ten of each bot, on maps and seeds of no training. Intervals of one network are over games, those of
means over seeds; both are of 95 per cent.

What was examined is kept in the folder of ``--exams`` and not played again. The result goes to
benchmarks/results/champion_seeds.json. The exit code is 1 if a road misses its bar: two hours of processor
time, nine times the fair share of wins.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import territorial
from benchmarks import harness
from benchmarks.bots.road_folders import NETWORK, make_untrained, minutes_of, progress, seed_of
from benchmarks.bots.short_exam import ShortExam, add_options, line_of, over_runs, spread_of
from territorial.bots import Network

RESULT = harness.RESULTS / "champion_seeds.json"
BARS = {"minutes": 120.0, "fair": 9.0}
"""What is asked of each road: minutes of processor time at most, and wins over the fair share at least."""


def main(argv: list[str] | None = None) -> int:
    """Examine, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("roads", nargs="*", type=Path, help="folders that examples/champion.py made")
    add_options(parser, 2000, RESULT)
    parsed = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        if parsed.quick:
            road = Path(temporary, "road")
            make_untrained(road)
            parsed.roads, parsed.exams, parsed.games = [road], Path(temporary), 10
        if not parsed.roads:
            parser.error("there are no roads; give the folders that examples/champion.py made")
        try:
            found = list(_examined(parsed))
        except (ValueError, OSError) as error:
            parser.error(str(error))
    harness.write(parsed.json, result_of(found, parsed.games))
    missed = list(misses(found))
    print("\n".join(missed) or "no bar is missed")
    return int(bool(missed) and not parsed.quick)


def _examined(parsed: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is found of each road, and print it."""
    exam = ShortExam(parsed.exams, parsed.games, parsed.threads)
    for road in parsed.roads:
        harness.tell(f"{road}: examination")
        found = {
            "seed": seed_of(road),
            "minutes": {name: round(value, 2) for name, value in minutes_of(road).items()},
            "updates": len(progress(road / "pairs")),
            "exam": exam.examined(Network(road / "pairs" / NETWORK)),
        }
        harness.tell("")
        steps = ", ".join(f"{name} {taken:.1f}" for name, taken in found["minutes"].items())
        print(f"seed {found['seed']}, {total(found):.1f} min ({steps}): {line_of(found['exam'])}", flush=True)
        yield found


def result_of(found: Sequence[Mapping[str, Any]], games: int) -> dict[str, Any]:
    """Return the result: every road, and the means over them."""
    return {
        "rules_version": territorial.RULES_VERSION,
        "games": games,
        "roads": found,
        "mean": over_runs(found),
        "minutes": spread_of([total(one) for one in found]),
    }


def total(found: Mapping[str, Any]) -> float:
    """Return the minutes of processor time of a road."""
    return float(sum(found["minutes"].values()))


def misses(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for every bar that a road misses."""
    for one in found:
        if total(one) > BARS["minutes"]:
            yield f"missed: seed {one['seed']}, {total(one):.1f} minutes of processor time"
        if one["exam"]["fair"]["value"] < BARS["fair"]:
            yield f"missed: seed {one['seed']}, {one['exam']['fair']['value']:.2f} times the fair share"


if __name__ == "__main__":
    sys.exit(main())
