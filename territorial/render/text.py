"""Text on pictures, in the font of Pillow.

Pillow is loaded with the first picture, so that ``import territorial`` stays quick.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from territorial.render.board import Image

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont


@lru_cache(maxsize=16)
def _font(size: int) -> FreeTypeFont:
    """Return Aileron, the font that is part of Pillow: pictures need no font file of the system."""
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


SMALLEST = 11
"""Pixels: the least size at which all letters can be told apart."""
FULL = 3
"""Coverage of a pixel that is all ink.

Letters look smooth with thirds, and a picture of 32 seats has fewer than 256 colours: files stay small.
"""

Mask = npt.NDArray[np.uint8]
Color = tuple[int, int, int]
Align = Literal["left", "middle", "right"]


def draw_text(
    image: Image, baseline: int, column: int, text: str, color: Color, size: int, align: Align = "left"
) -> None:
    """Write ``text`` over (h, w, 3) ``image``; edges cut it off.

    Args:
        image: uint8, changed in place.
        baseline: the row on which letters stand.
        column: where the text begins, has its middle or ends, as ``align`` says.
        text: one line.
        color: of the ink, RGB.
        size: of the font in pixels: capitals are 0.7 of it high.
        align: "left", "middle" or "right".

    """
    if not text:
        return
    first, bare, ink = _ink(text, size, color)
    height, width, _ = ink.shape
    before = 0 if align == "left" else text_width(text, size) // (2 if align == "middle" else 1)
    top, left = baseline - size + first, column - before - _margin(size)
    area = image[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    if area.shape != ink.shape:
        down, right = max(-top, 0), max(-left, 0)
        part = np.s_[down : down + area.shape[0], right : right + area.shape[1]]
        bare, ink = bare[part], ink[part]
    mixed = np.multiply(area, bare, dtype=np.uint16)
    mixed += ink
    mixed //= FULL
    area[:] = mixed


@lru_cache(maxsize=2**10)
def _ink(text: str, size: int, color: Color) -> tuple[int, Mask, npt.NDArray[np.uint16]]:
    """Return a text in a colour, from the first of the rows of its mask that is not empty to the last.

    With the number of that row, (h, w, 3) each: how much of what is below shows through, and how much colour
    is added.
    """
    mask = text_mask(text, size)
    rows = np.flatnonzero(mask.any(axis=1))
    top, bottom = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    covered = mask[top:bottom, :, None]
    return top, (FULL - covered).repeat(3, axis=2), covered.astype(np.uint16) * np.array(color, np.uint16)


@lru_cache(maxsize=2**12)
def text_width(text: str, size: int) -> int:
    """Return how many columns ``text`` takes."""
    return sum(_glyph(character, size)[1] for character in text)


def capital_height(size: int) -> int:
    """Return how many rows a capital or a digit takes above the baseline."""
    return round(0.7 * size)


@lru_cache(maxsize=2**10)
def fitting(text: str, size: int, width: int) -> str:
    """Return as much of the beginning of ``text`` as ``width`` columns hold."""
    length = len(text)
    while text_width(text[:length], size) > width:
        length -= 1
    return text[:length]


def text_mask(text: str, size: int) -> Mask:
    """Return how much of each pixel the ink of ``text`` covers, 0 to FULL; the baseline is row ``size``.

    The text begins a few columns from the left edge: some letters stand out of their place. They are put
    side by side here because Pillow takes as long for each letter as this takes for a whole number. The font
    has no kerning, so that the text is the same.
    """
    margin = _margin(size)
    mask = np.zeros((_height(size), text_width(text, size) + 2 * margin), np.uint8)
    left = 0
    for character in text:
        letter, advance = _glyph(character, size)
        area = mask[:, left : left + letter.shape[1]]
        np.maximum(area, letter, out=area)
        left += advance
    return mask


@lru_cache(maxsize=2**11)
def _glyph(character: str, size: int) -> tuple[Mask, int]:
    """Return the mask of a letter on the baseline, row ``size``, and its width; boxes for unknown ones."""
    from PIL import Image as Pictures
    from PIL.ImageDraw import Draw

    letter = normalize("NFD", character)[0]  # without accents, which the font lacks
    font, margin = _font(size), _margin(size)
    advance = round(font.getlength(letter))
    cell = Pictures.new("L", (advance + 2 * margin, _height(size)))
    Draw(cell).text((margin, size), letter, fill=255, font=font, anchor="ls")
    thirds = (np.asarray(cell).astype(np.uint16) * FULL + 127) // 255
    return thirds.astype(np.uint8), advance


def _height(size: int) -> int:
    return size + -(-size // 3)


def _margin(size: int) -> int:
    return 1 + size // 8
