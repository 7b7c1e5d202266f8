"""Games as films and pages, for the verbs that show or leave them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from territorial.cli import options
from territorial.cli.options import UsageError
from territorial.engine.vec_game import VecGame
from territorial.render import web
from territorial.render.film import film_header, usual_distance
from territorial.replay import Frame, LiveGame, Replay


class Show(NamedTuple):
    """A game to be seen: the header of its film, and its frames."""

    header: dict[str, Any]
    frames: Iterator[Frame]


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
    return Show(header, source.frames(every or usual_distance(source.config)))


def write_page(argument: str, path: str, film: bytes) -> int:
    """Write the page that holds ``film`` to ``path``, which ``argument`` named, and return its bytes."""
    try:
        return web.write_page(path, film)
    except OSError as error:
        raise UsageError(f"argument {argument}: {path!r} cannot be written: {error.strerror}") from None
