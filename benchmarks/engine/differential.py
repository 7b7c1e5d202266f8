#!/usr/bin/env python3
"""Plays random games on the engine and on the reference, and compares every field after every tick.

    python benchmarks/engine/differential.py                   a million ticks on two processes, half an hour
    python benchmarks/engine/differential.py --ticks 20000     a look, in half a minute
    python benchmarks/engine/differential.py --seed 1000000        games that were never compared before
    python benchmarks/engine/differential.py --with-teams --ticks 300000     games of teams
    python benchmarks/engine/differential.py --teams-of-one 10000    by the code of teams, and without it

Exit code 1 at the first difference; the report names the command that repeats it. How games are drawn is
said in territorial/testing/differential.py, and what games of teams of one are in teams_of_one.py there.
"""

from __future__ import annotations

import sys
import time

import territorial
from benchmarks import harness
from territorial.cli import options
from territorial.testing import teams_of_one
from territorial.testing.differential import run


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = harness.parser_of(__doc__)
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
    parser.add_argument(
        "--teams-of-one",
        metavar="GAMES",
        type=options.whole(1, 10**7),
        help="play so many games with and without the code of teams, and nothing on the reference",
    )
    options.add_seed_option(parser, "seed of the first game; the next ones count up")
    parsed = parser.parse_args(argv)
    started = time.perf_counter()
    if parsed.teams_of_one:
        same = teams_of_one.compare(parsed.teams_of_one, parsed.seed)
        found, different = same._asdict(), list(same.different)
    else:
        compared = run(parsed.ticks, parsed.seed, parsed.processes, show=True, with_teams=parsed.with_teams)
        found = compared._asdict() | {"changed": sorted(compared.changed)}
        different = compared.mismatches
    print("\n".join(different) or "no difference")
    print(f"{found['ticks']:,} ticks of {found['games']:,} games, {time.perf_counter() - started:.0f} s")
    harness.write(parsed.json, {"rules_version": territorial.RULES_VERSION, **found})
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
