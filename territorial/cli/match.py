"""``territorial match``: one field of players over many seeds and maps, with statistics."""

from __future__ import annotations

import argparse
from itertools import cycle, islice
from typing import Any

from territorial.cli import contest, options
from territorial.engine.seats import LINEUPS

DEFAULT = "mixed-2"
EXAMPLES = """\
  territorial match
  territorial match --seats levels-1 --games 200 --set handicap=true
  territorial match --seats banker,my_bots:Patient --num-players 24
  territorial match --seats snapshot:main-12,turtle --store snapshots
  territorial match --games 2000 --records match.jsonl   give it again to resume
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "play one field of players over many seeds and maps, and rank them"
    parser = options.new_parser(verbs, "match", summary, EXAMPLES)
    parser.add_argument(
        "--seats",
        default=DEFAULT,
        metavar="PLAYER,PLAYER,...",
        help=options.seats_help(contest.WHO, DEFAULT),
    )
    contest.add_options(parser, games=100)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play it and report it."""
    players = _listed(parsed.seats)
    num_players = contest.config_of(parsed).num_players
    if len(players) > num_players and parsed.seats in LINEUPS:
        players = [players[len(players) * i // num_players] for i in range(num_players)]
    elif len(players) < num_players:
        players = list(islice(cycle(players), num_players))
    return contest.run(parsed, players, "fixed")


def _listed(text: str) -> list[str]:
    """Return the players that ``text`` lists, or those of the line-up that it names."""
    if text in LINEUPS:
        return list(LINEUPS[text].seats)
    return [name.strip() for name in text.split(",")]
