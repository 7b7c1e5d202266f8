"""Animations that verbs of the command line leave: a game drawn picture by picture into a file."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from territorial.cli.options import ANIMATION, FILM, UsageError, check_writable
from territorial.config import GameConfig
from territorial.config.map_names import Terrain
from territorial.render import Renderer, write_video
from territorial.render.picture_files import check_video
from territorial.render.renderer import fitting_scale
from territorial.replay import Frame

KINDS = "it must end in .apng or .gif, or in .mp4 with the extra video"
"""The kinds of files, for the help of the verbs."""
Image = npt.NDArray[np.uint8]

HOLD = 2
"""Seconds for which the last picture stays."""


def check_animation(argument: str, path: str, fps: float) -> None:
    """Raise UsageError if there can be no animation at ``path``, before time is spent on what goes in."""
    try:
        check_video(path, fps)
    except (ValueError, ImportError) as error:
        raise UsageError(f"argument {argument}: {error}") from None
    check_writable(argument, path, FILM if Path(path).suffix.lower() == ".mp4" else ANIMATION)


def write_animation(
    argument: str,
    path: str,
    frames: Iterable[Frame],
    config: GameConfig,
    names: Sequence[str],
    terrain: Terrain,
    *,
    teams: Sequence[int] | None,
    side: int,
    fps: float,
    stream: TextIO,
) -> int:
    """Draw ``frames`` into a file and return how many pictures it has; the last one stays a while.

    ``side`` is about the pixels of a board's longer side. Says on ``stream`` how far it has come.
    """
    renderer = Renderer(
        config.num_players,
        names=names,
        scale=fitting_scale((config.height, config.width), side),
        teams=teams,
    )
    pictures = _draw(renderer, frames, terrain, round(HOLD * fps), stream)
    try:
        return write_video(pictures, path, fps)
    except (OSError, RuntimeError) as error:
        raise UsageError(f"argument {argument}: {path!r} cannot be written: {error}") from None


def _draw(
    renderer: Renderer, frames: Iterable[Frame], terrain: Terrain, hold: int, stream: TextIO
) -> Iterator[Image]:
    picture, reported = None, time.monotonic()
    for count, frame in enumerate(frames, start=1):
        picture = renderer.draw(
            frame.owner, frame.land, frame.troops, tick=frame.tick, terrain=terrain, gifts=frame.gifts
        )
        yield picture
        if time.monotonic() - reported > 1:
            reported = time.monotonic()
            print(f"animation: {count} pictures, tick {frame.tick:,}", file=stream, flush=True)
    if picture is not None:
        for _ in range(hold):
            yield picture
