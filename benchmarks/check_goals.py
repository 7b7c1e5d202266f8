#!/usr/bin/env python3
"""Holds the results on file against the goals of benchmarks/goals.toml.

    python -m benchmarks.check_goals            a second; nothing is measured
    python -m benchmarks.check_goals vector_cost parts

A line for every goal: what it means, the figure, the bound, met or missed, the revision that was measured,
how many commits ago that was, and the processor. A revision with ``?`` is that of the commit that recorded
the result, with ``+`` that of a commit whose source had been changed. Exit code 1 if a goal is missed, a
figure is not there, or a result does not name its revision.
"""

from __future__ import annotations

import argparse
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import derived_figures, goals, harness
from benchmarks.goals import BOUNDS, Goal

ROOT = Path(__file__).resolve().parents[1]
DERIVED = dict(inspect.getmembers(derived_figures, inspect.isfunction))


class Verdict(NamedTuple):
    goal: Goal
    figures: tuple[Any, ...]
    wrong: str
    """Why the goal is missed; empty if it is met."""


def main(argv: list[str] | None = None, folder: Path = harness.RESULTS) -> int:
    """Print the verdicts and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="*", help="names of results to look at (default all)")
    wanted = parser.parse_args(argv).results
    results = {path.stem: json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))}
    asked = [goal for goal in goals.read() if not wanted or goal.result in wanted]
    verdicts = [judged(goal, results) for goal in asked]
    print(table(verdicts, results))
    unstamped = [name for name in wanted or results if name in results and not stamps_of(results[name])]
    for name in unstamped:
        print(f"benchmarks/results/{name}.json does not name the revision that was measured", file=sys.stderr)
    missed = [verdict for verdict in verdicts if verdict.wrong]
    for goal, _, wrong in missed:
        print(f"MISSED: {goal.means} ({goal.result}: {goal.figure}): {wrong}", file=sys.stderr)
    print(f"{len(verdicts) - len(missed)} of {len(verdicts)} goals met")
    return int(bool(missed or unstamped))


# ---- figures -----------------------------------------------------------------------------------------


def judged(goal: Goal, results: Mapping[str, Any]) -> Verdict:
    """Return whether a goal is met, and if not, why."""
    if goal.result not in results:
        return Verdict(goal, (), f"benchmarks/results/{goal.result}.json is missing")
    try:
        figures = figures_of(goal, results[goal.result])
        other = differing(goal, results[goal.result])
    except LookupError as error:
        return Verdict(goal, (), f"there is no {error.args[0]!r} in the result")
    failed = [figure for figure in figures if not meets(figure, goal)]
    if other:
        return Verdict(goal, figures, other)
    if not figures:
        return Verdict(goal, (), "the result has no such figure")
    return Verdict(goal, figures, f"{goals.number(failed[0])} is not {goal.bound()}" if failed else "")


def figures_of(goal: Goal, result: Any) -> tuple[Any, ...]:
    """Return the figures that the bound is for; KeyError if the result has none such."""
    found = tuple(look_up(goal.figure, result))
    if goal.over is None:
        return found
    (divisor,) = look_up(goal.over, result)
    return tuple(figure / divisor for figure in found)


def look_up(figure: str, result: Any) -> Iterator[Any]:
    """Yield what is at ``figure`` in a result."""
    if figure.endswith("()"):
        derived = DERIVED[figure.removesuffix("()")](result)
        yield from derived if hasattr(derived, "__iter__") else (derived,)
    else:
        yield from _below(result, figure.split("/"))


def _below(found: Any, keys: list[str]) -> Iterator[Any]:
    if not keys:
        yield found
    elif keys[0] == "*":
        for one in found.values() if isinstance(found, Mapping) else found:
            yield from _below(one, keys[1:])
    elif isinstance(found, Mapping) and keys[0] in found:
        yield from _below(found[keys[0]], keys[1:])
    else:
        raise KeyError("/".join(keys))


def differing(goal: Goal, result: Any) -> str:
    """Return what was not measured as the goal asks; empty if all was."""
    for figure, wanted in goal.given.items():
        (found,) = look_up(figure, result)
        if found != wanted:
            return f"measured with {figure} {found}, not {wanted}"
    return ""


def meets(figure: Any, goal: Goal) -> bool:
    """Return whether a figure is within all bounds of a goal."""
    return all(BOUNDS[kind](figure, bound) for kind, bound in goal.bounds.items())


# ---- what was measured -------------------------------------------------------------------------------


def stamps_of(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the stamps of a result, of each part if those were measured apart; none if one lacks it."""
    parts = [result] if "revision" in result or not result else list(result.values())
    stamped = [part for part in parts if isinstance(part, Mapping) and _commit(part)]
    return stamped if len(stamped) == len(parts) else []


def _commit(part: Mapping[str, Any]) -> str:
    return str((part.get("revision") or {}).get("commit") or "")


def shown(revision: Mapping[str, Any]) -> str:
    """Return a revision in short, with a sign if it is not exactly what was measured."""
    sign = {True: "", False: "+", None: "?"}[revision.get("clean")]
    return f"{revision['commit'][:9]}{sign}"


@cache
def behind(commit: str) -> str:
    """Return how many commits the checkout is ahead of one; ``unknown`` where git does not say."""
    command = ["git", "-C", str(ROOT), "rev-list", "--count", f"{commit}..HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


# ---- the table ---------------------------------------------------------------------------------------


def table(verdicts: list[Verdict], results: Mapping[str, Any]) -> str:
    """Return the verdicts as text, in columns."""
    header = ("goal", "figure", "bound", "", "revision", "behind", "machine")
    rows = [header, *(row(verdict, results.get(verdict.goal.result, {})) for verdict in verdicts)]
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(header))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in rows
    )


def row(verdict: Verdict, result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line of the table."""
    goal, figures, wrong = verdict
    stamp = next(iter(stamps_of(result)), {})
    revision = stamp.get("revision")
    return (
        goal.means,
        spread(figures),
        goal.bound(),
        "MISSED" if wrong else "met",
        shown(revision) if revision else "none",
        behind(revision["commit"]) if revision else "",
        str(stamp.get("machine", {}).get("cpu", "unknown")),
    )


def spread(figures: tuple[Any, ...]) -> str:
    """Return the figures of a goal: one, or the lowest and the highest."""
    if not figures:
        return "none"
    ends = dict.fromkeys(goals.number(figure) for figure in (min(figures), max(figures)))
    return " to ".join(ends)


if __name__ == "__main__":
    sys.exit(main())
