"""Games as films and pages, for the verbs that show or leave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from territorial.cli import options
from territorial.cli.options import UsageError
from territorial.engine import VecGame
from territorial.render import web
from territorial.render.film import Frame, film_header
from territorial.render.frames import play_frames, terrain_of, usual_distance


class Show(NamedTuple):
    """A game to be seen: the header of its film, and its frames."""

    header: dict[str, Any]
    frames: Iterator[Frame]


def show_of(game: VecGame, seats: Sequence[str], seed: int, every: int | None = None) -> Show:
    """Return the show of game 0 of ``game``, which is played as its frames are taken.

    ``every``: ticks from one frame to the next; None: the usual distance.
    """
    config = game.config
    name = options.lineup_name(tuple(seats)) or f"{len(seats)} bots"
    header = film_header(config, seats, f"{name}, seed {seed}", terrain_of(config))
    return Show(header, play_frames(game, every or usual_distance(config)))


def write_page(argument: str, path: str, film: bytes) -> int:
    """Write the page that holds ``film`` to ``path``, which ``argument`` named, and return its bytes."""
    try:
        return web.write_page(path, film)
    except OSError as error:
        raise UsageError(f"argument {argument}: {path!r} cannot be written: {error.strerror}") from None
