#!/usr/bin/env python3
"""Compares the speed of two revisions on one machine, part by part.

    python benchmarks/engine/compare.py                     the last commit with the files as they are
    python benchmarks/engine/compare.py v0.1 HEAD           two revisions
    python benchmarks/engine/compare.py HEAD~5 --rounds 3
    python benchmarks/engine/compare.py --machine-code v3   numba, and the library of a level

Both are checked out beside each other (git worktree) and compiled by numba; then ``parts.py`` of these files
times one after the other, in changing order, so that both meet the same noise. The exit code is 1 if
a part has become slower by more than SLOWER, and 2 if the two did not play the same games under the same
rules.

With ``--machine-code`` both are the files as they are: the old plays with what numba compiles for this
processor, the new with the library that `python maintainers/machine_code.py` has made for the level.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import binom

from benchmarks import harness
from territorial.jit.library import CHOICE, NUMBA, Library

ROOT = Path(__file__).resolve().parents[2]
PARTS = Path(__file__).with_name("parts.py")
AS_IT_IS = "the files as they are"
SLOWER = 1.3
"""The ratio of times, new over old, from which on a part is called slower: less may be noise."""
COMPILE = """
import territorial
game = territorial.VecGame(territorial.GameConfig(), 1, seats=territorial.LINEUPS["mixed-2"].seats)
game.reset()
game.step()
game.restore(0, game.save(0))
"""


class Side(NamedTuple):
    """What is timed: the package in a folder, with the machine code of a level, or of numba."""

    folder: Path
    machine_code: str


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    level = parsed.machine_code
    old_name, new_name = (NUMBA, level) if level else (parsed.old, parsed.new or AS_IT_IS)
    with tree(None if level else parsed.old) as old, tree(parsed.new) as new:
        sides = Side(old, NUMBA), Side(new, level or NUMBA)
        for side in sides:
            harness.progress(f"compiling {side.folder}, {side.machine_code}")
            python(side, "-c", COMPILE)
        runs = take_turns(*sides, parsed.rounds, parsed.steps)
    olds, news = ([run["us"] for run in side] for side in runs)
    rows = ratios(olds, news)
    print(table(rows, old_name, new_name))
    harness.write(parsed.json, {"old": old_name, "new": new_name, "parts": rows})
    if are_different(*runs):
        print("DIFFERENT: the two did not play the same games", file=sys.stderr)
        return 2
    slow = [part for part, row in rows.items() if row["ratio"] > SLOWER]
    for part in slow:
        print(f"SLOWER by {rows[part]['ratio']:.2f} (allowed: {SLOWER}): {part}", file=sys.stderr)
    return 1 if slow else 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("old", nargs="?", default="HEAD", help="revision to compare with (default HEAD)")
    parser.add_argument("new", nargs="?", help=f"revision to judge (default: {AS_IT_IS})")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="times that each case is measured; the median counts (default %(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=600,
        help="environment steps to run; so many of each batch and run (default %(default)s)",
    )
    parser.add_argument("--machine-code", metavar="LEVEL", help="compare the library of a level with numba")
    parsed = parser.parse_args(argv)
    if parsed.machine_code and (why_not := Library(chosen=parsed.machine_code).why_not):
        parser.error(f"argument --machine-code: {why_not}")
    return parsed


@contextmanager
def tree(revision: str | None) -> Iterator[Path]:
    """Check ``revision`` out into a folder of its own for as long as it is needed; None: this checkout."""
    if revision is None:
        yield ROOT
        return
    with tempfile.TemporaryDirectory(prefix="territorial-compare-") as folder:
        git("worktree", "add", "--detach", "--force", folder, revision)
        try:
            yield Path(folder)
        finally:
            git("worktree", "remove", "--force", folder)


def git(*arguments: str) -> None:
    """Run git in this checkout; its own words say what is wrong, if anything is."""
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, stdout=subprocess.DEVNULL)


def python(side: Side, *arguments: str) -> str:
    """Run Python with the package of a side, and return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(side.folder), CHOICE: side.machine_code}
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(
        command, cwd=side.folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def take_turns(old: Side, new: Side, rounds: int, steps: int) -> tuple[list[Any], list[Any]]:
    """Return what parts.py found for both, ``rounds`` times each."""
    found: dict[Side, list[Any]] = {old: [], new: []}
    for number in range(rounds):
        harness.progress(f"round {number + 1} of {rounds}")
        for side in (old, new) if number % 2 == 0 else (new, old):
            found[side].append(json.loads(python(side, str(PARTS), "--json", "-", "--steps", str(steps))))
    return found[old], found[new]


def ratios(olds: Sequence[dict[str, float]], news: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return, by part, the medians of both and the ratio: the median over rounds of new over old.

    ``low`` and ``high`` are the 95 % interval of the ratio, see ``interval_of_median``.
    """
    rows = {}
    for part in news[0]:
        if part in olds[0]:
            pairs = [(old[part], new[part]) for old, new in zip(olds, news, strict=True)]
            found = [new / old for old, new in pairs]
            low, high = interval_of_median(found)
            rows[part] = {
                "old_us": statistics.median(old for old, _ in pairs),
                "new_us": statistics.median(new for _, new in pairs),
                "ratio": statistics.median(found),
                "low": low,
                "high": high,
            }
    return rows


def interval_of_median(numbers: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median, by the sign test; of fewer than 6 numbers, their range.

    It makes no assumption on how the numbers are distributed: W. Conover, "Practical Nonparametric
    Statistics", 3rd edition, 3.2.
    """
    dropped = max(0, int(binom.ppf(0.025, len(numbers), 0.5)) - 1)
    ordered = sorted(numbers)
    return ordered[dropped], ordered[-1 - dropped]


def are_different(olds: Sequence[dict[str, Any]], news: Sequence[dict[str, Any]]) -> bool:
    """Return whether games under the same rules ended in different positions."""
    positions: dict[int, set[str]] = {}
    for run in (*olds, *news):
        positions.setdefault(run["rules_version"], set()).add(run["digest"])
    return any(len(digests) > 1 for digests in positions.values())


def table(rows: dict[str, dict[str, float]], old: str, new: str) -> str:
    """Return the figures as text."""
    head = f"{'microseconds':48} {'old':>9} {'new':>9} {'ratio':>6}   {'95 %':11}"
    lines = [f"{head}   old: {old}, new: {new}"]
    for part, row in rows.items():
        interval = f"{row['low']:5.2f}-{row['high']:.2f}"
        times = f"{row['old_us']:9.2f} {row['new_us']:9.2f} {row['ratio']:6.2f}"
        lines.append(f"{part:48} {times}   {interval}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
