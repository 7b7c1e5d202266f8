"""``territorial match``: one field of players over many seeds and maps, with statistics."""

from __future__ import annotations

import argparse
from typing import Any

from territorial.cli import contest, options
from territorial.engine.seats import LINEUPS
from territorial.evaluation.contests import DEFAULT_LINEUP, match

EXAMPLES = """\
  territorial match
  territorial match --seats levels-1 --games 200 --set handicap=true
  territorial match --seats banker,my_bots:Patient --num-players 24
  territorial match --seats snapshot:main-12,turtle --store snapshots
  territorial match --teams 4 --seats banker,turtle,besieger,settler
  territorial match --games 2000 --records match.jsonl   give it again to resume
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "play one field of players over many seeds and maps, and rank them"
    parser = options.new_parser(verbs, "match", summary, EXAMPLES)
    parser.add_argument(
        "--seats",
        default=DEFAULT_LINEUP,
        metavar="PLAYER,PLAYER,...",
        help=options.seats_help(contest.WHO, DEFAULT_LINEUP, "seat, with --teams every team,"),
    )
    contest.add_options(parser, games=100)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play it and report it."""
    is_lineup = parsed.seats in LINEUPS
    seats = parsed.seats if is_lineup else [name.strip() for name in parsed.seats.split(",")]
    return contest.run(parsed, seats, match)
