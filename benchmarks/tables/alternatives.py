"""The table of the README that puts the package beside others that people weigh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.tables.machines import line_about
from territorial.cli.obs_tables import markdown
from territorial.constants import MAX_PLAYERS

OTHERS = ("MAgent2", "Neural MMO 2", "Melting Pot 2")
MEASURED = {"territorial-env": "engine", "MAgent2": "MAgent2 battle"}
"""Whose steps a second ``benchmarks/engine/peers.py`` measures, and what they are called there."""
FACTS: Mapping[str, tuple[str, ...]] = {
    "players of a game": (f"2 to {MAX_PLAYERS}", "hundreds, in armies", "128", "2 to 16"),
    "the game": ("conquest of one board", "battles on a grid", "survival and trade", "over 50 social games"),
    "PettingZoo": ("yes", "yes", "yes", "through Shimmy"),
    "to play against": ("27 bots, and custom ones", "-", "scripted creatures", "trained populations"),
    "trained weights": ("`champion-1`", "-", "with its baselines", "those populations"),
    "replays, and a page to watch them": ("yes", "-", "yes", "-"),
    "leagues": ("yes", "-", "-", "-"),
}
"""From the documentation of each, in November 2026; the package itself is the first."""


def alternatives(found: Mapping[str, Any]) -> str:
    """Return the table: facts of each, and agent-steps a second of those that were measured."""
    names = ("territorial-env", *OTHERS)
    rates = [_rate(found, name) for name in names]
    rows = [*((what, *facts) for what, facts in FACTS.items()), ("agent-steps/s", *rates)]
    about = (
        "From their documentation, November 2026; corrections are welcome. Agent-steps are of living agents, "
        f"of other games with other views. {line_about(found)} (`benchmarks/engine/peers.py`)"
    )
    return "\n".join([markdown(("", *names), rows, "l" * (1 + len(names))), "", about])


def _rate(found: Mapping[str, Any], name: str) -> str:
    if name not in MEASURED:
        return "not measured"
    return f"{found['rates'][MEASURED[name]]['agent_steps_per_s']:,.0f}"
