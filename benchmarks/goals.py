"""The goals of benchmarks/goals.toml: each names a result, a figure of it, a bound, and what that means."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("goals.toml")
BOUNDS = {
    "at_least": lambda figure, bound: figure >= bound,
    "at_most": lambda figure, bound: figure <= bound,
    "above": lambda figure, bound: figure > bound,
    "below": lambda figure, bound: figure < bound,
    "equals": lambda figure, bound: figure == bound,
}
"""What a goal may ask of its figure, by the key that says it."""


class GoalError(ValueError):
    """A goal that cannot be understood; the message names it."""


@dataclass(frozen=True)
class Goal:
    """A figure of a result and what is asked of it."""

    result: str
    """The name of a file in benchmarks/results, without .json."""
    figure: str
    """The way to the figure by keys, such as ``us/rules and bots``; ``*`` stands for every key, all within
    the bound. ``name()`` is a function of benchmarks/derived_figures.py."""
    means: str
    over: str | None = None
    """The figure to divide by, if the goal is about a ratio."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What the measurement has to be of, by figure: its size, how many games."""
    bounds: Mapping[str, Any] = field(default_factory=dict)

    def bound(self) -> str:
        """Return what is asked, in signs."""
        signs = {"at_least": "≥", "at_most": "≤", "above": ">", "below": "<", "equals": "="}
        return ", ".join(f"{signs[kind]} {number(bound)}" for kind, bound in self.bounds.items())


def number(value: Any) -> str:
    """Return a figure or a bound as text, of four digits at least."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


@cache
def read(path: Path = PATH) -> tuple[Goal, ...]:
    """Return all goals; GoalError if one has an unknown key, or no bound."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["goal"]
    return tuple(_goal(table) for table in tables)


def _goal(table: dict[str, Any]) -> Goal:
    known = {one.name for one in fields(Goal)} - {"bounds"}
    name = f"the goal {table.get('result', '?')}: {table.get('figure', '?')}"
    unknown = table.keys() - known - BOUNDS.keys()
    if unknown:
        raise GoalError(
            f"{name} has the unknown key {sorted(unknown)[0]!r}; known are {sorted(known | BOUNDS.keys())}"
        )
    missing = {"result", "figure", "means"} - table.keys()
    bounds = {key: value for key, value in table.items() if key in BOUNDS}
    if missing or not bounds:
        raise GoalError(
            f"{name} lacks {sorted(missing)[0] if missing else f'a bound, one of {sorted(BOUNDS)}'}"
        )
    return Goal(**{key: table[key] for key in table.keys() & known}, bounds=bounds)


def bound(result: str, figure: str) -> float:
    """Return the bound of the one goal for a figure, for the benchmark that measures it."""
    (goal,) = (goal for goal in read() if (goal.result, goal.figure) == (result, figure))
    (value,) = goal.bounds.values()
    return float(value)


def bounds_of(result: str, folder: str) -> dict[str, float]:
    """Return the bounds of all figures of ``result`` that lie in ``folder``, by their names."""
    found = (goal.figure for goal in read() if goal.result == result)
    return {
        name.removeprefix(f"{folder}/"): bound(result, name)
        for name in found
        if name.startswith(f"{folder}/")
    }


def slower() -> float:
    """Return how many times slower a part of the engine may become, for benchmarks/engine/compare.py."""
    return float(tomllib.loads(PATH.read_text(encoding="utf-8"))["compare"]["slower"])
