"""Picture files: PNG, and animations as GIF."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from territorial.config.validation import finite_number
from territorial.files.atomic import draft_of, write_file
from territorial.files.png import png_file
from territorial.render.board import Image


def check_picture(rgb: Image, name: str = "a picture") -> None:
    """Raise ValueError unless ``rgb`` is uint8 (h, w, 3) and not empty."""
    shape: tuple[int, ...] = getattr(rgb, "shape", ())
    dtype = getattr(rgb, "dtype", type(rgb).__name__)
    if len(shape) != 3 or shape[2] != 3 or dtype != np.uint8 or 0 in shape:
        raise ValueError(f"{name} is a uint8 array of shape (H, W, 3); got {dtype}, {shape}")


def write_png(path: str | os.PathLike[str], rgb: Image) -> None:
    """Write an (H, W, 3) uint8 RGB picture to ``path`` as an 8-bit PNG file."""
    check_picture(rgb)
    write_file(path, png_file(rgb))


LOWEST_FPS, HIGHEST_FPS = 0.1, 50
"""Pictures a second of an animation. Its clock counts hundredths of a second, and players take 1 for 10."""
# Milliseconds of a tick of this clock.
_CLOCK = 10
# Of the 256 colours of a GIF picture one stands for "as before".
_MOST_COLORS = 255


def write_gif(path: str | os.PathLike[str], frames: Iterable[Image], fps: float = 20) -> int:
    """Write pictures to ``path`` as an animation in the GIF format, and return how many there were.

    ``frames`` are uint8 (h, w, 3), all of one size; each is kept as a byte a pixel until the last one has
    come. ``fps``, 0.1 to 50, are pictures a second. Up to 255 colours of a picture are exact, of more the
    nearest of 255 are taken. The file appears when it is complete; if anything fails, one that was there
    before is untouched. Raises TypeError and ValueError for what cannot be an animation.
    """
    finite_number("fps", fps, LOWEST_FPS, HIGHEST_FPS)
    pictures: list[Any] = []
    for i, rgb in enumerate(frames):
        check_picture(rgb, f"frames[{i}]")
        pictures.append(_with_palette(rgb))
        if pictures[i].size != pictures[0].size:
            first = (*pictures[0].size[::-1], 3)
            raise ValueError(f"frames[{i}] has shape {rgb.shape}; the first picture has {first}")
    if not pictures:
        raise ValueError("frames is empty; an animation needs at least one picture")
    # Ends are rounded, and not durations, so that all together last as long as they should.
    ends = [_CLOCK * round(1000 / _CLOCK * number / fps) for number in range(len(pictures) + 1)]
    with draft_of(path) as draft:
        pictures[0].save(
            draft,
            "GIF",
            save_all=True,
            append_images=pictures[1:],
            duration=np.diff(ends).tolist(),
            loop=0,
        )
    return len(pictures)


def _with_palette(rgb: Image) -> Any:
    """Return a picture of at most 255 colours: its own where it has no more, else the nearest of a choice."""
    from PIL import Image as Pictures

    picture = Pictures.fromarray(rgb)
    return picture.quantize(_MOST_COLORS, Pictures.Quantize.MEDIANCUT, dither=Pictures.Dither.NONE)
