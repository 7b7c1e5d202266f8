"""Text on pictures, as smooth letters of the font that is part of Pillow."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from territorial.render.board import Image
from territorial.render.pillow import glyph

SMALLEST = 11
"""Pixels: the least size at which all letters can be told apart."""
FULL = 3
"""Coverage of a pixel that is all ink.

Letters look smooth with thirds, and a picture of 32 seats has fewer than 256 colours: files stay small.
"""

Mask = npt.NDArray[np.uint8]
Color = tuple[int, int, int]
Align = Literal["left", "middle", "right"]


class _Ink(NamedTuple):
    """A text in a colour, without the empty rows above and below."""

    top: int
    """The first of the rows of the mask of the text."""
    bare: Mask
    """How much of what is below shows through, (h, w, 3)."""
    ink: npt.NDArray[np.uint16]
    """How much colour is added."""


class _Glyph(NamedTuple):
    mask: Mask
    advance: int
    top: int
    """The first row of ink; ``bottom`` is the one after the last."""
    bottom: int


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
    written = _ink(text, size, color)
    height, width, _ = written.ink.shape
    before = 0 if align == "left" else text_width(text, size) // (2 if align == "middle" else 1)
    top, left = baseline - size + written.top, column - before - _margin(size)
    area = image[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    bare, ink = written.bare, written.ink
    if area.shape != ink.shape:
        down, right = max(-top, 0), max(-left, 0)
        part = np.s_[down : down + area.shape[0], right : right + area.shape[1]]
        bare, ink = bare[part], ink[part]
    mixed = np.multiply(area, bare, dtype=np.uint16)
    mixed += ink
    mixed //= FULL
    area[:] = mixed


@lru_cache(maxsize=2**10)
def _ink(text: str, size: int, color: Color) -> _Ink:
    letters = [_glyph(character, size) for character in text]
    top, bottom = min(letter.top for letter in letters), max(letter.bottom for letter in letters)
    covered = text_mask(text, size)[top:bottom]
    return _Ink(top, _BARE.take(covered, axis=0), _shades(color).take(covered, axis=0))


_BARE = np.repeat(np.arange(FULL, -1, -1, dtype=np.uint8)[:, None], 3, axis=1)
"""What is left of the ground, by coverage, for each of three channels."""


@lru_cache(maxsize=64)
def _shades(color: Color) -> npt.NDArray[np.uint16]:
    """Return how much of a colour is added, by coverage."""
    return np.arange(FULL + 1, dtype=np.uint16)[:, None] * np.array(color, np.uint16)


@lru_cache(maxsize=2**12)
def text_width(text: str, size: int) -> int:
    """Return how many columns ``text`` takes."""
    return sum(_glyph(character, size).advance for character in text)


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
        letter = _glyph(character, size)
        area = mask[:, left : left + letter.mask.shape[1]]
        np.maximum(area, letter.mask, out=area)
        left += letter.advance
    return mask


@lru_cache(maxsize=2**11)
def _glyph(character: str, size: int) -> _Glyph:
    letter = normalize("NFD", character)[0]  # without accents, which the font lacks
    covered, advance = glyph(letter, size, _height(size), _margin(size))
    thirds = ((covered.astype(np.uint16) * FULL + 127) // 255).astype(np.uint8)
    rows = np.flatnonzero(thirds.any(axis=1))
    top, bottom = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (size - 1, size)
    return _Glyph(thirds, advance, top, bottom)


def _height(size: int) -> int:
    return size + -(-size // 3)


def _margin(size: int) -> int:
    return 1 + size // 8
