"""Games in the browser, for the verbs that show or leave them: films, pages, and servers of pages."""

import argparse
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import Any, TypeVar

from territorial._log import LOG
from territorial.browser import film
from territorial.browser.server import PageServer
from territorial.cli import options
from territorial.cli.options import STDOUT, UsageError
from territorial.replay import LiveGame, Replay

DEFAULT_PORT = 8765

Server = TypeVar("Server", bound=PageServer)


def show(game: Replay | LiveGame, seats: tuple[str, ...], seed: int, every: int | None = None) -> film.Show:
    """Return the show of a game that is named by who plays it and its seed."""
    return film.show(game, f"{options.lineup_name(seats) or f'{len(seats)} players'}, seed {seed}", every)


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


def serve(
    parsed: argparse.Namespace,
    make: Callable[[str, int], Server],
    work: Callable[[], None],
    stop: Callable[[], bool],
    danger: str,
    *,
    is_opened: bool,
    **more: Any,
) -> None:
    """Serve until interrupted, while ``work`` is done in a thread that ends after ``stop``; raise its error.

    The server listens before the work begins, which may have to compile. ``stop`` returns whether that is
    over, so that the thread ends soon and is waited for.

    ``make`` gets the host and the port that were asked for. The address is printed, and written as JSON with
    ``more`` where that is asked for. ``danger``: what others can do where the server does not listen on this
    machine alone. ``is_opened``: the page is opened in a browser.
    """
    try:
        server = make(parsed.host, parsed.port)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"arguments --host, --port: cannot serve on {parsed.host!r}, port {parsed.port}: {error}; "
            "--port 0 takes a free port"
        ) from None
    failures = list[BaseException]()

    def work_or_stop() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
            server.shutdown()

    with server:
        _announce(parsed, server, more)
        if not server.is_loopback:
            LOG.warning("anyone who can reach this machine %s (%s)", danger, parsed.host)
        if is_opened:
            webbrowser.open(server.url)
        working = threading.Thread(target=work_or_stop, daemon=True)
        working.start()
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            LOG.info("stopped")
        finally:
            working.join(None if stop() else 1)  # it may be compiling for minutes
    if failures:
        raise failures[0]


def _announce(parsed: argparse.Namespace, server: PageServer, more: dict[str, Any]) -> None:
    """Say where the page is, for each of those who are served."""
    others = server.urls[1:]
    if parsed.json is not None:
        report = {"url": server.url, "port": server.server_address[1], **more}
        options.write_json(parsed.json, report | ({"urls": server.urls} if others else {}))
    if parsed.json != STDOUT:
        print(f"{parsed.verb} at {server.url} (Ctrl-C stops)")
        for number, url in enumerate(others, start=2):
            print(f"person {number} at {url}")
        if others and server.is_loopback:
            print("these addresses work only on this machine; --host 0.0.0.0 serves the network")
    sys.stdout.flush()
