"""The tables of docs/performance.md, from benchmarks/results."""

from __future__ import annotations

from typing import Any

from benchmarks import goals
from benchmarks.tables.machines import line_about
from benchmarks.tables.results import load

COUNTS = {
    "living": "players alive",
    "attack_steps": "attack steps",
    "captures": "fronts taken",
    "cells_taken": "cells taken",
    "cells_changed": "cells that have another owner than a step before",
    "blocks_of_fronts": "blocks of 8 x 64 cells that the fronts lie in",
    "border_cells": "cells in all fronts together",
    "lines_of_observation": "lines of 64 bytes of the observation that differ, stack of 4",
}
FLOORS = {"fronts": "floor of the fronts, µs", "observation": "floor of what is observed, µs"}
PHASES = ("all", "0-1k", "1-2k", "2-4k", "4k+")


def parts() -> str:
    """Return the times of the parts beside their goals."""
    bounds = goals.bounds_of("parts", "us")
    lines = ["| part | µs | goal |", "|---|--:|--:|"]
    for part, us in load("parts")["us"].items():
        goal = f"{bounds[part]:.1f}" if part in bounds else ""
        lines.append(f"| {part} | {us:.1f} | {goal} |")
    return "\n".join([*lines, "", line_about(load("parts"))])


def counts() -> str:
    """Return what happens in a step, by phase of the game, and the floor that follows."""
    found = load("counts")
    phases = [name for name in PHASES if found["per_step"].get(name)]
    lines = ["| per environment step | " + " | ".join(_heading(name) for name in phases) + " |"]
    lines.append("|---|" + "--:|" * len(phases))
    for name, meaning in COUNTS.items():
        cells = [f"{found['per_step'][phase][name]:,.1f}" for phase in phases]
        lines.append(f"| {meaning} | " + " | ".join(cells) + " |")
    for part, meaning in FLOORS.items():
        cells = [f"{found['floor_us'][phase][part]:.2f}" for phase in phases]
        lines.append(f"| {meaning} | " + " | ".join(cells) + " |")
    smallest = found["smallest_ns"]
    return "\n".join(
        [
            *lines,
            "",
            f"A block of a front found, counted and taken: {smallest['find_and_take_a_block']:.1f} ns; a "
            f"line of 8 MB changed, in random order: {smallest['change_a_line']:.1f} ns. "
            f"Means over {found['games']} games. {line_about(found)}",
        ]
    )


def instructions() -> str:
    """Return the instructions of a step by part, and how many of them a cycle."""
    found = load("instructions")
    lines = [
        "| a step of one game | instructions | µs | instructions a cycle | code for any size | µs |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for part, figures in found["parts"].items():
        other = found["any_size"][part]
        lines.append(
            f"| {part} | {figures['instructions']:,} | {figures['us']:.1f} | {figures['per_cycle']:.1f} "
            f"| {other['instructions']:,} | {other['us']:.1f} |"
        )
    return "\n".join(
        [
            *lines,
            "",
            f"The same step of {found['games']} games at all points of their lives, counted, and at the "
            f"fastest of {found['times']} times; the call from Python is left out of the count alone. "
            f"{line_about(found)}",
        ]
    )


def _heading(phase: str) -> str:
    return "all" if phase == "all" else f"ticks {phase}"


def mechanisms() -> str:
    """Return what each of the engine's own mechanisms buys, by what is played and how many games."""
    rows = load("mechanisms")["rows"]
    names = [name.partition(", ")[0] for name in rows]
    kinds = list(dict.fromkeys(names))
    lines = ["| played | " + " | ".join(kinds) + " |", "|---|" + "--:|" * len(kinds)]
    for played in dict.fromkeys(name.partition(", ")[2] for name in rows):
        found = [rows.get(f"{kind}, {played}") for kind in kinds]
        cells = [f"{one['median']:.2f}" if one else "" for one in found]
        lines.append(f"| {played.replace(' 1 games', ' 1 game')} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", line_about(load("mechanisms"))])


def threads() -> str:
    """Return what several threads gain, the engine's beside kernels that share nothing."""
    found = load("threads")
    lines = [
        f"| {found['threads']} threads compared with one | times as much | lowest and highest |",
        "|---|--:|--:|",
    ]
    for what, gain in found["gains"].items():
        lines.append(f"| {what} | {gain['median']:.2f} | {gain['lowest']:.2f} to {gain['highest']:.2f} |")
    return "\n".join([*lines, "", line_about(load("threads"))])


def peers() -> str:
    """Return the rates of the alternatives."""
    lines = ["| environment | environment steps/s | agent-steps/s, living agents |", "|---|--:|--:|"]
    for name, rates in load("peers")["rates"].items():
        lines.append(f"| {name} | {rates['env_steps_per_s']:,.0f} | {rates['agent_steps_per_s']:,.0f} |")
    return "\n".join([*lines, "", line_about(load("peers"))])


def scaling() -> str:
    """Return the cost of a step by size of the map and by number of players, with what happens in it."""
    curves = load("scaling")["curves"]
    lines = ["| | rules and bots, µs | everything observed, µs | cells taken |", "|---|--:|--:|--:|"]
    for curve in ("games", "map", "players", "threads"):
        by_value: dict[int, list[dict[str, Any]]] = {}
        for row in curves.get(curve, []):
            by_value.setdefault(row["value"], []).append(row)
        for value, (bare, observed) in by_value.items():
            cells = "" if bare["cells"] is None else f"{bare['cells']:,.0f}"
            lines.append(
                f"| {_point(curve, value)} | {bare['step_us']:.1f} | {observed['step_us']:.1f} | {cells} |"
            )
    return "\n".join([*lines, "", line_about(load("scaling"))])


def _point(curve: str, value: int) -> str:
    if curve == "map":
        return f"map of {value} x {value}"
    return f"{value:,} {curve if value > 1 else curve.removesuffix('s')}"
