"""Games in the browser, for the verbs that show or leave them: films, pages, and servers of pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from territorial.cli import options
from territorial.cli.options import STDOUT, UsageError
from territorial.engine.vec_game import VecGame
from territorial.render.film import film_header, usual_distance
from territorial.render.server import PageServer
from territorial.replay import Frame, LiveGame, Replay

DEFAULT_PORT = 8765

Server = TypeVar("Server", bound=PageServer)


Show = tuple[dict[str, Any], Iterator[Frame]]
"""A game to be seen: the header of its film, and its frames."""


def live_show(game: VecGame, seed: int, every: int | None = None) -> Show:
    """Return the show of game 0 of ``game``, which is played as its frames are taken.

    ``every``: ticks from one frame to the next; None: the usual distance.
    """
    kind = game.config.map
    return _show(LiveGame(game), game.seats_of(0), seed, kind if isinstance(kind, str) else None, every)


def recorded_show(replay: Replay, every: int | None = None) -> Show:
    """Return the show of a replay, as :func:`live_show`."""
    return _show(replay, replay.seats, replay.seed, replay.map_kind, every)


def _show(
    source: Replay | LiveGame, seats: tuple[str, ...], seed: int, map_kind: str | None, every: int | None
) -> Show:
    title = f"{options.lineup_name(seats) or f'{len(seats)} players'}, seed {seed}"
    header = film_header(
        source.config,
        source.names,
        title,
        terrain=source.terrain,
        map_kind=map_kind,
        teams=source.teams,
    )
    return header, source.frames(every or usual_distance(source.config))


# ---- servers ---------------------------------------------------------------------------------------


def add_server_options(parser: argparse.ArgumentParser) -> Any:
    """Add the options that say where a server listens, and return their group."""
    group = parser.add_argument_group("the server")
    group.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to serve on; 127.0.0.1 serves this machine alone, 0.0.0.0 the whole network "
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


def server_at(parsed: argparse.Namespace, make: Callable[[str, int], Server]) -> Server:
    """Return what ``make`` makes of the host and the port that were asked for; UsageError if it cannot."""
    try:
        return make(parsed.host, parsed.port)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"arguments --host, --port: cannot serve on {parsed.host!r}, port {parsed.port}: {error}; "
            "--port 0 takes a free port"
        ) from None


def announce(parsed: argparse.Namespace, server: PageServer, what: str, danger: str, **more: Any) -> None:
    """Print the address after ``what``, and as JSON with ``more`` where that is asked for.

    ``danger``: what others can do where the server does not listen on this machine alone.
    """
    if parsed.json is not None:
        options.write_json(parsed.json, {"url": server.url, "port": server.server_address[1], **more})
    if parsed.json != STDOUT:
        print(f"{what} {server.url} (Ctrl-C stops)")
    sys.stdout.flush()
    if not server.is_loopback:
        print(
            f"territorial {parsed.verb}: anyone who can reach this machine {danger} ({parsed.host})",
            file=sys.stderr,
        )
