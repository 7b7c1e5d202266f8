"""Films, pages and page servers for the verbs that show games."""

import argparse
import sys
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from territorial._log import LOG
from territorial.browser import film
from territorial.browser.playable import playable
from territorial.browser.server import DEFAULT_PORT, PageServer, Serving
from territorial.browser.web import write_page
from territorial.cli import options
from territorial.cli.options import STDOUT, UsageError
from territorial.engine.seats import CustomBot, Seat
from territorial.evaluation.schedule import lineup_name
from territorial.replay import LiveGame, Replay


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


# ---- servers ---------------------------------------------------------------------------------------


def add_server_options(parser: argparse.ArgumentParser) -> Any:
    """Add the options that say where a server listens, and return their group."""
    group = parser.add_argument_group("the server")
    group.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to serve on; 127.0.0.1 serves only this machine, 0.0.0.0 the whole network "
        "(default 127.0.0.1)",
    )
    group.add_argument(
        "--port",
        type=options.whole(0, 65535),
        default=DEFAULT_PORT,
        metavar="N",
        help=f"TCP port to serve on; 0 takes a free port; 0 to 65535 (default {DEFAULT_PORT})",
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
            _announce(parsed, serving.server)
            if not serving.server.is_loopback:
                LOG.warning("anyone who can reach this machine %s (%s)", danger, parsed.host)
            if is_opened:
                webbrowser.open(serving.url)
            serving.wait()
        except KeyboardInterrupt:
            LOG.info("stopped")


def _announce(parsed: argparse.Namespace, server: PageServer) -> None:
    """Print where the page is, or report it as JSON."""
    if parsed.json is not None:
        options.write_json(parsed.json, {"url": server.url, "port": server.server_address[1]})
    if parsed.json != STDOUT:
        print(f"{parsed.verb} at {server.url} (Ctrl-C stops)")
    sys.stdout.flush()
