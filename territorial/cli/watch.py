"""``territorial watch``: shows a game in the browser, served or as HTML."""

import argparse
import shlex
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from territorial.browser.film import Show, write_film
from territorial.browser.hosting import begin
from territorial.browser.moments import Moments
from territorial.browser.server import Feed, PageServer, Serving
from territorial.browser.web import page
from territorial.cli import options
from territorial.cli.demo import with_progress
from territorial.cli.options import UsageError, blamed_on, explained
from territorial.cli.pages import add_server_options, listens, serve, show, write_game
from territorial.engine.seats import CustomBot
from territorial.evaluation.what_if import chances
from territorial.evaluation.schedule import USUAL_SEATS
from territorial.replay import LiveGame, Recorder, Replay

EXAMPLES = """\
  territorial watch                        play a game of 32 bots and show it
  territorial watch live --seed 7 --map mountains --open
  territorial watch territorial-0.replay   show a recorded game
  territorial watch game.replay --chances  with the places to be expected
  territorial watch --page game.html       write one file to keep, open or send
  territorial watch --port 0 --json        take a free port, print it as JSON
"""

LIVE = "live"

Make = Callable[[], tuple[Show, Moments]]
"""Begins what is shown; with it comes what the page can ask about its moments."""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "show a game in the browser, or write it as one HTML file"
    parser = options.new_parser(verbs, "watch", summary, EXAMPLES)
    parser.add_argument(
        "game",
        nargs="?",
        default=LIVE,
        metavar="FILE_OR_LIVE",
        help="a replay file, or the word live, which shows a new game of bots as it is played (default live)",
    )
    parser.add_argument("--page", metavar="FILE", help=explained("--page", "nothing is served then"))
    add_server_options(parser).add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--every",
        type=options.whole(1, 10_000_000),
        metavar="TICKS",
        help=explained(
            "--every",
            "a frame is taken at the next decision; 1 to 10000000",
            default="every decision, or fewer in games that may last more than 2,000 decisions",
        ),
    )
    parser.add_argument(
        "--chances",
        action="store_true",
        help=explained(
            "--chances",
            "of a replay, from 40 moments, 50 times from each",
            "some seconds of processor time with bots of rules, a minute with networks",
        ),
    )
    options.add_seed_option(parser, options.SEEDS_OF_GAMES)
    options.add_seats_option(parser, has_champion=True)
    options.add_report(parser, run)
    options.add_config_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Serve the game, or write it."""
    if parsed.page is not None:
        options.check_writable("--page", parsed.page, options.PAGE)
    make = _live(parsed) if parsed.game == LIVE else _recorded(parsed)
    return _write(parsed, *make()) if parsed.page is not None else _serve(parsed, make)


def _recorded(parsed: argparse.Namespace) -> Make:
    """Return a function that shows the game of a replay, which has been read."""
    given = {"--seed": parsed.seed != 0, "--seats": parsed.seats != USUAL_SEATS}
    given |= {options.option_of(name): getattr(parsed, name) is not None for name in options.NAMED_FIELDS}
    for name, is_given in (given | {"--set": bool(parsed.assignments)}).items():
        if is_given:
            raise UsageError(f"argument {name}: {parsed.game!r} is a replay, whose game cannot be changed")
    with blamed_on("FILE_OR_LIVE"):
        replay = Replay.load(parsed.game)
    more: dict[str, Any] = {"play_on": f"territorial play --from {shlex.quote(parsed.game)}"}
    if parsed.chances:
        with blamed_on("--chances", ValueError):
            more["chances"] = chances(replay).to_dict()

    def shown() -> tuple[Show, Moments]:
        header, frames = show(replay, replay.seats, replay.seed, parsed.every)
        return (header | more, frames), Moments(lambda: replay)

    return shown


def _live(parsed: argparse.Namespace) -> Make:
    """Return a function that begins a game of bots, which is played while its frames are taken."""
    if parsed.chances:
        raise UsageError(
            "argument --chances: it needs the file of a replay, as its games are played on from it"
        )
    config = options.config_of(parsed, seed=parsed.seed)
    seats = options.seats_of(parsed, config)

    @options.enough_memory("--height, --width, --num-players", f"a game of {options.size_of(config)}")
    def begun() -> tuple[Show, Moments]:
        with blamed_on("", ValueError):
            game = begin(config, seats, parsed.seed)
        players = {one.name: one for one in seats if isinstance(one, CustomBot)}
        moments = Moments(Recorder(game).replay, players)
        header, frames = show(LiveGame(game), game.seats_of(0), parsed.seed, parsed.every)
        return (header, with_progress(frames, game)), moments

    return begun


# ---- as a file -------------------------------------------------------------------------------------


def _write(parsed: argparse.Namespace, shown: Show, moments: Moments) -> int:
    film_bytes, size = write_game(parsed.page, shown, moments.replay, moments.players.values())
    text = f"page: {parsed.page} ({size:,} bytes); it opens in any browser, also without a network"
    result = {
        "page": parsed.page,
        "bytes": size,
        "film_bytes": film_bytes,
        "title": shown[0]["title"],
    }
    options.report(parsed, text, result)
    return 0


# ---- as a server -----------------------------------------------------------------------------------


def _serve(parsed: argparse.Namespace, make: Make) -> int:
    """Serve until interrupted; an error in making the film ends it too."""
    film, begun = Feed(), Future[Moments]()

    def fill() -> None:
        shown, moments = make()
        begun.set_result(moments)
        pieces = write_film(*shown)
        while True:
            with moments.lock:
                piece = next(pieces, None)
            if piece is None:
                film.close()
            if piece is None or not film.append(piece):
                return

    def look(tick: int, seat: int, panel: str) -> dict[str, Any] | None:
        if not begun.done():
            raise ValueError("the game has not begun")
        return begun.result().look(tick, seat, panel)

    def abandon() -> bool:
        film.close(is_whole=False)
        return film.count > 0

    with listens(parsed):
        server = PageServer(page(), film, parsed.host, parsed.port, look=look)
    serve(parsed, Serving(server, fill, abandon), "can see the game", is_opened=parsed.open)
    return 0
