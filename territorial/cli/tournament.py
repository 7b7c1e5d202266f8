"""``territorial tournament``: all bots against each other, every game with other seats, and their ratings."""

from __future__ import annotations

import argparse
from typing import Any

from territorial import bots
from territorial.cli import contest, options

EXAMPLES = """\
  territorial tournament --out all.jsonl --plots plots
  territorial tournament --players hard,very_hard,impossible,my_bots:Patient --games 200
  territorial tournament --games 5000 --out all.jsonl   go on with one that has been played in part
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "let players meet in many games with seats dealt anew each time, and rate them"
    parser = options.new_parser(verbs, "tournament", summary, EXAMPLES)
    parser.add_argument(
        "--players",
        default=",".join(bots.NAMES),
        metavar="PLAYER,PLAYER,...",
        help="who takes part, bots, module:Class, a bot in Python, or snapshot:NAME; every game deals its "
        "seats among them as evenly as they go (default all bots)",
    )
    contest.add_options(parser, games=2000)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play it and report it."""
    return contest.run(parsed, [name.strip() for name in parsed.players.split(",")], "balanced")
