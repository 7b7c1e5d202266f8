"""The table about networks on pairs: how little they change in whole numbers."""

from __future__ import annotations

from typing import Any

from territorial.cli import obs_tables

WAYS = {"greedy": "the likeliest actions", "drawn": "actions drawn by their probabilities"}


def rounding(found: dict[str, Any]) -> str:
    """Return the table of games between a network in whole numbers and what it was."""
    rows = [
        (
            WAYS[name],
            f"{one['decisions']:,}",
            f"{100 * one['equal']:.2f} %",
            *(f"{one['mean_place'][who]:.3f}" for who in ("whole numbers", "PyTorch")),
            f"{one['lead']:.3f} ± {one['half_interval']:.3f}",
        )
        for name, one in found["ways"].items()
    ]
    header = ("both play", "decisions", "same choice", "place, whole numbers", "place, PyTorch", "difference")
    about = (
        f"{found['games']:,} games of {found['num_players']} players on {found['height']} x "
        f"{found['height']} cells in each row, seats exchanged in every other one, with 95 % intervals "
        "(`benchmarks/bots/network_rounding.py`)."
    )
    return "\n".join([obs_tables.markdown(header, rows, "lrrrrr"), "", about])
