"""``territorial whatif``: what would have come of other decisions at a tick of a recorded game."""

import argparse
import re
from typing import Any

from territorial._log import LOG
from territorial.cli import options
from territorial.cli.options import INTERRUPTED, UsageError, blamed_on, number, number_of, option
from territorial.constants import FRACTION_UNIT
from territorial.evaluation.players import named_bot
from territorial.evaluation.what_if import MOST_GAMES, Choice, what_if
from territorial.evaluation.workers import MOST_PROCESSES, cause
from territorial.replay import Replay

EXAMPLES = """\
  territorial whatif g.replay --tick 900 --seat 7 --against hold
  territorial whatif g.replay --tick 900 --seat 7 --against 12:25%
  territorial whatif g.replay --tick 900 --seat 7 --against champion --games 999
"""
LAUNCH = re.compile(r"(free|[0-9]+):([^%]*)%?")


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs,
        "whatif",
        "play a recorded game on from a tick, after the recorded decision of a seat and after others",
        EXAMPLES,
        run,
    )
    options.add(
        parser,
        option("file", "the recorded game, a .replay file", metavar="FILE"),
        option("--tick", "a decision point of the recorded game", type=int, required=True, metavar="TICK"),
        option("--seat", "the seat, 1 to P", type=int, required=True, metavar="SEAT"),
        option(
            "--against",
            "what the seat does instead: hold, SEAT:PERCENT%% or free:PERCENT%% for a launch, or a player "
            "that takes over, as in match; may be given several times",
            action="append",
            required=True,
            metavar="DECISION",
        ),
        number("--games", 2, MOST_GAMES, "of each decision", default=100),
        option(
            "--agents",
            "who plays on for agents and people",
            shown="champion",
            default="champion",
            metavar="PLAYER",
        ),
        option(
            "--player",
            "module:Class, style:FILE, net:FILE or program:FILE of a recorded player that the library does "
            "not have; may be given several times",
            action="append",
            default=[],
            metavar="PLAYER",
        ),
        number("--processes", 1, MOST_PROCESSES, shown="the usable cores"),
        options.JSON,
    )


def run(parsed: argparse.Namespace) -> int:
    """Play the games and print what came of each decision; return the exit code."""
    with blamed_on("FILE"):
        replay = Replay.load(parsed.file)
    with blamed_on("--against", argparse.ArgumentTypeError):
        alternatives = {text: {parsed.seat: _choice(text)} for text in parsed.against}
    with blamed_on("--player", ValueError):
        players = [named_bot(text) for text in parsed.player]
    try:
        found = what_if(
            replay,
            parsed.tick,
            alternatives,
            games=parsed.games,
            agents=parsed.agents,
            players={str(getattr(player, "name", player)): player for player in players},
            processes=parsed.processes,
        )
    except ValueError as error:
        raise UsageError(re.sub(r"players={.*", "--player", str(error))) from None
    except Exception as error:  # of a bot
        raise UsageError(cause(error)) from None
    options.report(parsed, found.text(parsed.seat), found.to_dict(parsed.seat))
    if found.games == parsed.games:
        return 0
    LOG.warning("interrupted: %s of %s games were played of each", f"{found.games:,}", f"{parsed.games:,}")
    return INTERRUPTED


def _choice(text: str) -> Choice:
    """Return the decision that a text names; ArgumentTypeError for another share than there is."""
    if text == "hold":
        return None
    launch = LAUNCH.fullmatch(text)
    if launch is None:
        return text
    share = number_of("percent", 0.1, 100)(launch[2])
    return 0 if launch[1] == "free" else int(launch[1]), round(FRACTION_UNIT * share / 100)
