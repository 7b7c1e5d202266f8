"""``territorial watch``: shows a game in the browser, served or as HTML."""

import argparse
import shlex
import sys
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from territorial._log import LOG
from territorial.browser import film
from territorial.browser.hosting import begin
from territorial.browser.panels import Moments
from territorial.browser.playable import playable
from territorial.browser.server import DEFAULT_PORT, Feed, PageServer, Serving
from territorial.browser.web import page, write_page
from territorial.cli import options
from territorial.cli.options import STDOUT, UsageError, blamed_on, number, option
from territorial.engine.seats import CustomBot, Seat, shown_names
from territorial.engine.vec_game import VecGame
from territorial.evaluation.progress import ProgressLine
from territorial.evaluation.schedule import USUAL_SEATS, lineup_name
from territorial.evaluation.what_if import chances
from territorial.render.figures import percent
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

T = TypeVar("T")
Make = Callable[[], tuple[film.Show, Moments]]
"""Begins what is shown; with it comes what the page can ask about its moments."""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs, "watch", "show a game in the browser, or write it as one HTML file", EXAMPLES, run
    )
    options.add(
        parser,
        option(
            "game",
            "a replay file, or the word live, which shows a new game of bots as it is played",
            shown=LIVE,
            nargs="?",
            default=LIVE,
            metavar="FILE_OR_LIVE",
        ),
        option("--page", "nothing is served then", metavar="FILE"),
    )
    options.add(add_server_group(parser), option("--open", "open the page in a browser", action="store_true"))
    options.add(
        parser,
        number(
            "--every",
            1,
            10_000_000,
            "a frame is taken at the next decision",
            shown="every decision, or fewer in games that may last more than 2,000 decisions",
            metavar="TICKS",
        ),
        option(
            "--chances",
            "of a replay, from 40 moments, 50 times from each",
            "some seconds of processor time with bots of rules, a minute with networks",
            action="store_true",
        ),
        options.seed_option(options.SEEDS_OF_GAMES),
        options.seats_option(has_champion=True),
        options.JSON,
    )
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

    def shown() -> tuple[film.Show, Moments]:
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
    def begun() -> tuple[film.Show, Moments]:
        with blamed_on("", ValueError):
            game = begin(config, seats, parsed.seed)
        players = {one.name: one for one in seats if isinstance(one, CustomBot)}
        moments = Moments(Recorder(game).replay, players)
        header, frames = show(LiveGame(game), game.seats_of(0), parsed.seed, parsed.every)
        return (header, with_progress(frames, game)), moments

    return begun


# ---- as a file -------------------------------------------------------------------------------------


def _write(parsed: argparse.Namespace, shown: film.Show, moments: Moments) -> int:
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
    feed, begun = Feed(), Future[Moments]()

    def fill() -> None:
        shown, moments = make()
        begun.set_result(moments)
        pieces = film.write_film(*shown)
        while True:
            with moments.lock:
                piece = next(pieces, None)
            if piece is None:
                feed.close()
            if piece is None or not feed.append(piece):
                return

    def look(tick: int, seat: int, panel: str) -> Any:
        if not begun.done():
            raise ValueError("the game has not begun")
        return begun.result().look(tick, seat, panel)

    def abandon() -> bool:
        feed.close(is_whole=False)
        return feed.count > 0

    with listens(parsed):
        server = PageServer(page(), feed, parsed.host, parsed.port, look=look)
    serve(parsed, Serving(server, fill, abandon), "can see the game", is_opened=parsed.open)
    return 0


# ---- for all verbs that show games -------------------------------------------------------------------


def show(game: Replay | LiveGame, seats: tuple[str, ...], seed: int, every: int | None = None) -> film.Show:
    """Return the show of a game, named by its players and its seed."""
    return film.show(game, f"{lineup_name(seats) or f'{len(seats)} players'}, seed {seed}", every)


def write_game(path: str, shown: film.Show, replay: Callable[[], Replay], seats: Iterable[Seat]) -> list[int]:
    """Write the page of a game, which can go on with it by itself, and return the bytes of film and page.

    ``replay`` returns the game once its film is made, and ``seats`` are those who play it. Without the
    library of pages the page shows the game, and no more.
    """
    content, engine = b"".join(film.write_film(*shown)), None
    try:
        engine = playable(replay(), {one.name: one for one in seats if isinstance(one, CustomBot)})
    except ValueError as error:
        LOG.info("the page only shows the game, and cannot go on with it: %s", error)
    with options.blamed_on("--page"):
        return [len(content), write_page(path, content, engine)]


def with_progress(played: Iterable[T], game: VecGame) -> Iterator[T]:
    """Yield the items of ``played``, and show the progress of ``game`` on stderr; its last line stays."""
    names, line, last = shown_names(game.seats_of(0)), ProgressLine(), game.config.max_ticks
    for one in played:
        yield one
        state = game.state
        tick, leader = int(state.tick[0]), int(state.land[0, 1:].argmax()) + 1
        share = percent(int(state.land[0, leader]), int(state.num_land[0]))
        bar = "#" * (20 * tick // last)
        text = (
            f"tick {tick:>{len(f'{last:,}')},} of {last:,} [{bar:20}]  "
            f"{int(state.alive[0].sum()):3} alive  leader P{leader} {names[leader - 1]} {share}"
        )
        if state.over[0]:
            line.close(text)
        else:
            line.show(text)


def add_server_group(parser: argparse.ArgumentParser) -> Any:
    """Add the options that say where a server listens, and return their group."""
    group = parser.add_argument_group("the server")
    options.add(
        group,
        option(
            "--host",
            "address to serve on; 127.0.0.1 serves only this machine, 0.0.0.0 the whole network",
            shown="127.0.0.1",
            default="127.0.0.1",
            metavar="ADDRESS",
        ),
        number("--port", 0, 65535, "TCP port to serve on; 0 takes a free port", default=DEFAULT_PORT),
    )
    return group


@contextmanager
def listens(parsed: argparse.Namespace) -> Iterator[None]:
    """Within the block, in which a server is made, say which address and port cannot be had."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"arguments --host, --port: cannot serve on {parsed.host!r}, port {parsed.port}: {error}; "
            "--port 0 takes a free port"
        ) from None


def serve(parsed: argparse.Namespace, serving: Serving, danger: str, *, is_opened: bool) -> None:
    """Print the address of a server, let it answer until it is interrupted, and stop it.

    It raises the error of the server's work. ``danger``: what others can do where the server does not listen
    on this machine alone. ``is_opened``: the page is opened in a browser.
    """
    with serving:
        try:
            server = serving.server
            if parsed.json is not None:
                options.write_json(parsed.json, {"url": server.url, "port": server.server_address[1]})
            if parsed.json != STDOUT:
                print(f"{parsed.verb} at {server.url} (Ctrl-C stops)")
            sys.stdout.flush()
            if not server.is_loopback:
                LOG.warning("anyone who can reach this machine %s (%s)", danger, parsed.host)
            if is_opened:
                webbrowser.open(serving.url)
            serving.wait()
        except KeyboardInterrupt:
            LOG.info("stopped")
