#!/usr/bin/env python3
"""Plays games of teams of one with the code of teams, and without it; compares digests after every decision.

    python benchmarks/engine/teams_of_one.py               ten thousand games, some minutes
    python benchmarks/engine/teams_of_one.py --games 50    a look, in seconds

Exit code 1 at the first difference. The result goes to benchmarks/results/teams_of_one.json.
territorial/testing/teams_of_one.py says what is played.
"""

from __future__ import annotations

import argparse
import sys
import time

import territorial
from benchmarks import harness
from territorial.cli import options
from territorial.testing import teams_of_one

RESULT = harness.RESULTS / "teams_of_one.json"


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--games",
        type=options.whole(1, 10**7),
        default=10_000,
        help="games to play (default %(default)s)",
    )
    options.add_seed_option(parser, "seed of the first games")
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    started = time.perf_counter()
    found = teams_of_one.compare(parsed.games, parsed.seed)
    result = {
        "rules_version": territorial.RULES_VERSION,
        "first_seed": parsed.seed,
        **found._asdict(),
        "seconds": time.perf_counter() - started,
    }
    harness.write(parsed.json, result)
    for line in found.different:
        print(f"another game: {line}", file=sys.stderr)
    verdict = "DIFFERENT" if found.different else "no difference"
    print(f"{found.games:,} games, {found.ticks:,} ticks: {verdict}; written to {parsed.json}")
    return 1 if found.different else 0


if __name__ == "__main__":
    sys.exit(main())
