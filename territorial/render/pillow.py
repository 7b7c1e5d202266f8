"""What Pillow does for pictures: it encodes them as GIF and draws shapes and letters on them.

Pillow is loaded with the first picture, so that ``import territorial`` stays quick.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Image = npt.NDArray[np.uint8]
_MOST_COLORS = 255
"""Of the 256 colours of a GIF picture one stands for "as before"."""


# ---- GIF -----------------------------------------------------------------------------------------------


def gif_beginning(rgb: Image, milliseconds: int) -> bytes:
    """Return a GIF file of one picture that plays without end, without its last byte: more may follow."""
    from PIL import Image as Pictures

    file = io.BytesIO()
    picture = _with_palette(Pictures.fromarray(rgb))
    picture.save(file, "GIF", loop=0, duration=milliseconds, interlace=0)
    return file.getvalue()[: -len(GIF_END)]


def gif_layer(rgb: Image, is_new: npt.NDArray[np.bool_], top: int, left: int, milliseconds: int) -> bytes:
    """Return the part of a GIF file that lays ``rgb`` over a place of the picture, where it ``is_new``."""
    from PIL import Image as Pictures
    from PIL.GifImagePlugin import getdata

    filler = rgb[is_new][:1] if is_new.any() else rgb[0, 0]  # adds no colour to those that are shown
    picture = _with_palette(Pictures.fromarray(np.where(is_new[:, :, None], rgb, filler)))
    palette = picture.getpalette() or []
    transparent = len(palette) // 3
    layer = Pictures.fromarray(np.where(is_new, np.asarray(picture), np.uint8(transparent)))
    layer.putpalette([*palette, 0, 0, 0])
    options: dict[str, Any] = {"transparency": transparent, "include_color_table": True}
    parts = getdata(layer, (left, top), duration=milliseconds, **options)
    data = b"".join(parts)
    parts.clear()  # Pillow makes a class for each call, which keeps them until garbage is collected
    return data


GIF_END = b";"


def _with_palette(picture: Any) -> Any:
    """Return a picture of at most 255 colours: its own where it has no more, else the nearest of a choice."""
    from PIL import Image as Pictures

    return picture.quantize(_MOST_COLORS, Pictures.Quantize.MEDIANCUT, dither=Pictures.Dither.NONE)


# ---- shapes --------------------------------------------------------------------------------------------

_FINER = 3
"""Pixels a side that a shape is drawn with for each of the picture: its edges are smooth."""
_RIMS = (((255, 255, 255, 255), 5), ((0, 0, 0, 255), 2))
"""What is around a shape so that it is seen on all colours, and how many pixels wide."""


def draw_shape(image: Image, points: npt.NDArray[np.float64], color: tuple[int, ...]) -> None:
    """Fill the polygon of ``points`` (n, 2), x and y in pixels, on (h, w, 3) ``image``; edges cut it off."""
    from PIL import Image as Pictures
    from PIL.ImageDraw import Draw

    margin = _RIMS[0][1]
    left, top = np.maximum(np.floor(points.min(axis=0)).astype(int) - margin, 0).tolist()
    right, bottom = (np.ceil(points.max(axis=0)).astype(int) + margin).tolist()
    area = image[top : max(bottom, 0), left : max(right, 0)]
    if area.size == 0:
        return
    sheet = Pictures.new("RGBA", (_FINER * area.shape[1], _FINER * area.shape[0]))
    corners = [tuple(corner) for corner in (_FINER * (points - (left, top))).tolist()]
    for rim, width in _RIMS:
        Draw(sheet).line([*corners, *corners[:2]], fill=rim, width=_FINER * width, joint="curve")
    Draw(sheet).polygon(corners, fill=(*color, 255))
    covered = np.asarray(sheet.reduce(_FINER)).astype(np.uint16)
    alpha = covered[:, :, 3:]
    area[:] = (covered[:, :, :3] * alpha + area * (255 - alpha)) // 255


# ---- letters -------------------------------------------------------------------------------------------


def glyph(character: str, size: int, height: int, margin: int) -> tuple[Image, int]:
    """Return how much of each pixel a character covers, (height, width) uint8, and how far it leads on.

    Its baseline is row ``size``. It begins at column ``margin`` and has as many columns behind it, for what
    stands out of its place. Characters that the font lacks are empty boxes.
    """
    from PIL import Image as Pictures
    from PIL.ImageDraw import Draw

    font = _font(size)
    advance = round(font.getlength(character))
    cell = Pictures.new("L", (advance + 2 * margin, height))
    Draw(cell).text((margin, size), character, fill=255, font=font, anchor="ls")
    return np.asarray(cell), advance


@lru_cache(maxsize=16)
def _font(size: int) -> FreeTypeFont:
    """Return Aileron, the font that is part of Pillow: pictures need no font file of the system."""
    from PIL import ImageFont

    try:
        font = ImageFont.load_default(size)
    except ImportError as error:
        raise ImportError(
            f"text on pictures needs a Pillow with FreeType, which its wheels have: {error}; "
            "pip install --force-reinstall --only-binary :all: pillow"
        ) from error
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font
