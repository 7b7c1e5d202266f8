#!/usr/bin/env python3
"""Trains the champion from several seeds, and compares strength and time.

    python examples/champion.py runs/champion
    python examples/champion.py runs/second --seed 1
    python examples/champion.py runs/third --seed 2
    python benchmarks/bots/champion_seeds.py runs/champion runs/second runs/third

The network of each plays games at full size, two seats of 32 against mixed-2, and small ones, two of 12
against ten of each bot, on maps and seeds of no training. Intervals of one network are over games, those of
means over seeds; both are of 95 per cent. The exit code is 1 if a road misses its bar: two hours of processor
time, nine times the fair share of wins.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.bots.exam_games import PART, Examiner, add_options, line_of
from territorial.bots import Network
from territorial.evaluation.statistics import mean_of

MOST_MINUTES, LEAST_FAIR = 120.0, 9.0
"""Of each road: minutes of processor time, and wins over the fair share."""


def main(argv: list[str] | None = None) -> int:
    """Examine, print, and return the exit code."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("roads", nargs="+", type=Path, help="folders that examples/champion.py made")
    add_options(parser, 2000, f"so many at full size, and one for {PART} of them against each bot")
    parsed = parser.parse_args(argv)
    examiner, roads, is_met = Examiner(parsed.threads), [], True
    for road in parsed.roads:
        harness.progress(f"{road}: examination")
        about = json.loads((road / "road.json").read_bytes())
        minutes = {name: value / 60 for name, value in about["processor_seconds"].items()}
        found = examiner.short(Network(road / "pairs" / "network.safetensors"), parsed.games)
        harness.progress("")
        steps = ", ".join(f"{name} {taken:.1f}" for name, taken in minutes.items())
        print(
            f"seed {about['seed']}, {sum(minutes.values()):.1f} min ({steps}): {line_of(found)}", flush=True
        )
        is_met = is_met and sum(minutes.values()) <= MOST_MINUTES and found["fair"].value >= LEAST_FAIR
        roads.append({"seed": about["seed"], "minutes": minutes, "exam": found})
    if len(roads) > 1:
        print(f"means over the seeds: {line_of(over_seeds(roads))}")
    harness.write(parsed.json, {"games": parsed.games, "roads": roads})
    return int(not is_met)


def over_seeds(roads: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over roads, with Student's intervals: each road is one number."""
    return {
        name: mean_of(np.array([road["exam"][name].value for road in roads])) for name in roads[0]["exam"]
    }


if __name__ == "__main__":
    sys.exit(main())
