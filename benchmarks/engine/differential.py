#!/usr/bin/env python3
"""Plays random games on the engine and on the reference, and compares every field after every tick.

    python benchmarks/engine/differential.py                   a million ticks on two processes, half an hour
    python benchmarks/engine/differential.py --ticks 20000     a look, in half a minute
    python benchmarks/engine/differential.py --seed 1000000        games that were never compared before
    python benchmarks/engine/differential.py --with-teams --ticks 300000     games of teams

Exit code 1 at the first difference; the report names the command that repeats it. The result, with
the machine and the versions, goes to benchmarks/results/differential.json, of teams to
differential_teams.json. How games are drawn is said in territorial/testing/differential.py.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import territorial
from benchmarks import harness
from territorial.cli import options
from territorial.testing.differential import Comparison, run

RESULT = harness.RESULTS / "differential.json"
RESULT_OF_TEAMS = harness.RESULTS / "differential_teams.json"


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    started = time.perf_counter()
    compared = run(parsed.ticks, parsed.seed, parsed.processes, show=True, with_teams=parsed.with_teams)
    result = report(compared, parsed.processes, time.perf_counter() - started)
    harness.write(parsed.json, result)
    for mismatch in compared.mismatches:
        print(mismatch, file=sys.stderr)
    verdict = "DIFFERENT" if compared.mismatches else "no difference"
    print(f"{compared.ticks:,} ticks of {compared.games:,} games: {verdict}; written to {parsed.json}")
    return 1 if compared.mismatches else 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--ticks",
        type=options.whole(1, 10**9),
        default=1_000_000,
        help="ticks to compare (default %(default)s)",
    )
    parser.add_argument(
        "--processes",
        type=options.whole(1, 1024),
        default=2,
        help="worker processes that play the games (default %(default)s)",
    )
    parser.add_argument("--with-teams", action="store_true", help="games of teams (default: without)")
    options.add_seed_option(parser, "seed of the first game; the next ones count up")
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    if parsed.with_teams and parsed.json == RESULT:
        parsed.json = RESULT_OF_TEAMS
    return parsed


def report(compared: Comparison, processes: int, seconds: float) -> dict[str, Any]:
    """Return the result as JSON would have it."""
    return {
        "rules_version": territorial.RULES_VERSION,
        "ticks": compared.ticks,
        "games": compared.games,
        "first_seed": compared.first_seed,
        "last_seed": compared.last_seed,
        "mismatches": compared.mismatches,
        "events": compared.events,
        "config_fields_changed": sorted(compared.changed),
        "processes": processes,
        "seconds": seconds,
        "ticks_per_second": compared.ticks / seconds,
    }


if __name__ == "__main__":
    sys.exit(main())
