"""``territorial play``: a person plays against bots and policies, in the browser."""

import argparse
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from territorial._log import LOG
from territorial.browser.commands import FASTEST, LEVELS, STEP
from territorial.browser.film import write_film
from territorial.browser.hosting import DEFAULT_LEVEL, DEFAULT_PACE, Hosted, Hosting, HostingError
from territorial.browser.mcp import ModelBot
from territorial.browser.web import write_page
from territorial.cli import options, snapshots
from territorial.cli.options import UsageError, blamed_on, number, option, option_of
from territorial.cli.watch import add_server_group, listens, serve
from territorial.constants import LARGEST_SEED, MAX_PLAYERS
from territorial.evaluation.schedule import CHAMPION, DEFAULT_FIELD
from territorial.league import SnapshotError
from territorial.replay import Replay

EXAMPLES = """\
  territorial play                            a card asks for the rest
  territorial play --level champion           a level to begin with
  territorial play --map europe --pace 40     another map, twice as quick
  territorial play --pace step                the game waits for your decisions
  territorial play --num-players 2 --opponent turtle
  territorial play --opponent style:mine.json --opponent net:one.safetensors
  territorial play --opponent snapshot:main-12 --store snapshots
  territorial play --spectate --pace 200      watch a game of bots
  territorial play --from FILE --tick 1600 --seat 7
  territorial play --page game.html           one file that plays by itself
  territorial play --mcp --no-open            for a language model
  territorial play --no-open --port 9000      then ssh -L 9000:localhost:9000
"""

MCP = "mcp"  # the opponent that is a language model
# Options of fields of ``Hosting`` that have other names.
_OPTIONS = {
    "config": "--num-players, --set",
    "opponents": "--opponent",
    "before": "--from",
    "spectate": "--spectate, --mcp",
}


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs,
        "play",
        "play a game yourself against bots and trained policies, in the browser",
        EXAMPLES,
        run,
    )
    options.add(
        parser,
        option(
            "--level",
            "who the others are; not with --opponent",
            shown=DEFAULT_LEVEL,
            choices=LEVELS,
        ),
        option(
            "--opponent",
            "player among the others: a bot, module:Class, style:FILE, net:FILE, program:FILE, "
            f"snapshot:NAME or checkpoint:FOLDER; repeat the option for more; {DEFAULT_FIELD} takes the "
            f"seats that are left; the word {MCP} is a language model as with --mcp, and you play against it",
            action="append",
            default=[],
            metavar="PLAYER",
            dest="opponents",
        ),
        option(
            "--mcp",
            "a language model plays your seat by tools of the Model Context Protocol, on stdin and stdout, "
            "and you watch",
            action="store_true",
        ),
        option(
            "--advisor",
            "player whose suggested moves the page can show (key P; same forms as --opponent; default "
            f"{CHAMPION})",
            metavar="PLAYER",
        ),
        option(
            "--pace",
            f"ticks a second, 1 to {FASTEST}, or the word step: the game waits for each of your decisions",
            shown=DEFAULT_PACE,
            type=_pace,
            default=DEFAULT_PACE,
            metavar="N",
        ),
        option(
            "--from",
            "play a recorded game from a tick on, with its other players; --opponent names those that the "
            "library does not have",
            metavar="FILE",
            dest="before",
        ),
        option(
            "--tick", "a decision point of the recorded game", shown=0, type=int, default=0, metavar="TICK"
        ),
        option(
            "--seat",
            "the seat, 1 to P",
            shown=1,
            type=options.whole(1, MAX_PLAYERS),
            default=1,
            metavar="SEAT",
        ),
        option("--page", "nothing is served then", metavar="FILE"),
        option("--spectate", "take no seat, and watch", action="store_true"),
        option(
            "--save",
            "file of the replay, which is always written",
            shown="territorial-SEED-TIME.replay, here",
            metavar="FILE",
        ),
    )
    options.add(
        add_server_group(parser),
        option("--no-open", "do not open the page in a browser", action="store_true"),
    )
    options.add(
        parser,
        number(
            "--seed",
            0,
            LARGEST_SEED,
            "equal seeds give equal games and maps",
            shown="a new one",
        ),
        snapshots.STORE,
    )
    options.add_config_options(parser, named=("num_players", "map"))
    parser.set_defaults(architectures=[], json=None)


def _pace(text: str) -> Any:
    """Return ticks a second, or the word for a game that waits."""
    if text == STEP:
        return STEP
    try:
        return options.whole(1, FASTEST)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor the word {STEP}") from None


def run(parsed: argparse.Namespace) -> int:
    """Serve games until it is interrupted, and say where their replays are."""
    if parsed.page is not None:
        return _write(parsed)
    with _in_options():
        hosting = hosting_of(parsed)
        with listens(parsed):
            hosted = Hosted(hosting, parsed.host, parsed.port)
        danger = "and gets this address, unencrypted as it is, can play your seat"
        serve(parsed, hosted, danger, is_opened=not parsed.no_open)
    reports = [f"replay of {ticks:,} ticks: {path}" for path, ticks in hosted.replays.items()]
    for model in hosting.models:
        model.client.close()
    # Results, which --quiet does not hide.
    LOG.warning("\n".join(reports) or "no replay: the game has not begun")
    return 0


def _write(parsed: argparse.Namespace) -> int:
    """Write the page of games that a browser plays by itself."""
    options.check_writable("--page", parsed.page, options.PAGE)
    with blamed_on("--page", ValueError), _in_options():
        shown, engine = hosting_of(parsed).page()
        size = write_page(parsed.page, b"".join(write_film(*shown)), engine)
    LOG.warning("page: %s (%s bytes); it opens in any browser", parsed.page, f"{size:,}")
    return 0


def hosting_of(parsed: argparse.Namespace) -> Hosting:
    """Return the games that the options describe."""
    policies, named = dict[str, Any](), [text for text in parsed.opponents if text != MCP]
    for argument, texts in (("--opponent", named), ("--advisor", [parsed.advisor or CHAMPION])):
        with blamed_on(argument, SnapshotError):
            policies |= zip(texts, snapshots.players_of(parsed, texts), strict=True)
    config, before = options.fields_of(parsed), None
    if parsed.before is not None:
        with blamed_on("--from"):
            before = Replay.load(parsed.before)
    asked = ([MCP] if parsed.mcp else []) + parsed.opponents
    with blamed_on("--mcp"):  # stdin may be closed
        model = ModelBot(*_pipes()) if MCP in asked else None
    same = ("level", "advisor", "seat", "pace", "seed", "save", "tick")
    return Hosting(
        config=config,
        before=before,
        opponents=[model if model is not None and text == MCP else text for text in asked],
        spectate=parsed.spectate or parsed.mcp,
        policies={text: player for text, player in policies.items() if text != player},
        **{name: getattr(parsed, name) for name in same},
    )


def _pipes() -> tuple[int, int]:
    """Return stdin and stdout for messages alone: what others read is nothing, and they print to stderr."""
    pipes = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return pipes


@contextmanager
def _in_options() -> Iterator[None]:
    """Within the block, attribute errors of fields to the options that set them."""
    try:
        yield
    except HostingError as error:
        fields = ("num_players", *Hosting.__dataclass_fields__)
        options_of = {field: option_of(field) for field in fields} | _OPTIONS
        problem = re.sub("`(\\w+)`", lambda found: options_of[found[1]], error.problem)
        problem = re.sub("players={.*", "--opponent", problem)
        start = f"argument {options_of[error.field]}: " if error.field else ""
        raise UsageError(start + problem) from None
