"""``territorial tournament``: all bots against each other, every game with other seats, and their ratings."""

from __future__ import annotations

import argparse
from typing import Any

from territorial import bots
from territorial.cli import contest, options
from territorial.cli.option_names import explained
from territorial.evaluation.contests import tournament

EXAMPLES = """\
  territorial tournament --records all.jsonl --plots plots
  territorial tournament --players hard,impossible,my_bots:Patient --games 200
  territorial tournament --games 5000 --records all.jsonl   add more games
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "compare players over many games, with new seats in each, and rate them"
    parser = options.new_parser(verbs, "tournament", summary, EXAMPLES)
    parser.add_argument(
        "--players",
        default=",".join((*bots.NAMES, *bots.LEARNED)),
        metavar="PLAYER,PLAYER,...",
        help=explained(
            "--players",
            contest.WHO,
            "every game deals its seats evenly, with --teams its teams",
            default="all bots",
        ),
    )
    contest.add_options(parser, games=2000)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play it and report it."""
    return contest.run(parsed, [name.strip() for name in parsed.players.split(",")], tournament)
