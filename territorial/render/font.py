"""A bitmap font of digits, capitals and a few signs, and text written with it: pictures need no font file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

GLYPH_HEIGHT, GLYPH_WIDTH = 7, 5
ADVANCE = GLYPH_WIDTH + 1
"""Columns from one character to the next, at size 1."""

Mask = npt.NDArray[np.bool_]

# Each strip: the characters, then their seven rows, one blank column between characters.
_STRIPS = (
    (
        "0123456789.%-AB",
        ".###. ..#.. .###. .###. ...#. ##### ..##. ##### .###. .###. ..... ##..# ..... .###. ####.",
        "#...# .##.. #...# #...# ..##. #.... .#... ....# #...# #...# ..... ##..# ..... #...# #...#",
        "#..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...# ..... ...#. ..... #...# #...#",
        "#.#.# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .#### ..... ..#.. ##### ##### ####.",
        "##..# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....# ..... .#... ..... #...# #...#",
        "#...# ..#.. .#... #...# ...#. #...# #...# ..#.. #...# ...#. .##.. #..## ..... #...# #...#",
        ".###. .###. ##### .###. ...#. .###. .###. ..#.. .###. .##.. .##.. #..## ..... #...# ####.",
    ),
    (
        "CDEFGHIJKLMNOPQ",
        ".###. ####. ##### ##### .###. #...# .###. ..### #...# #.... #...# #...# .###. ####. .###.",
        "#...# #...# #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.## ##..# #...# #...# #...#",
        "#.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.# ##..# #...# #...# #...#",
        "#.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.# #.#.# #...# ####. #...#",
        "#.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...# #..## #...# #.... #.#.#",
        "#...# #...# #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...# #..## #...# #.... #..#.",
        ".###. ####. ##### #.... .#### #...# .###. .##.. #...# ##### #...# #...# .###. #.... .##.#",
    ),
    (
        "RSTUVWXYZ_:?+/#",
        "####. .#### ##### #...# #...# #...# #...# #...# ##### ..... ..... .###. ..... ....# .#.#.",
        "#...# #.... ..#.. #...# #...# #...# #...# #...# ....# ..... .##.. #...# ..#.. ....# .#.#.",
        "#...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. ..... .##.. ....# ..#.. ...#. #####",
        "####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. ..... ..... ...#. ##### ..#.. .#.#.",
        "#.#.. ....# ..#.. #...# .#.#. #.#.# .#.#. ..#.. .#... ..... .##.. ..#.. ..#.. .#... #####",
        "#..#. ....# ..#.. #...# .#.#. ##.## #...# ..#.. #.... ..... .##.. ..... ..#.. #.... .#.#.",
        "#...# ####. ..#.. .###. ..#.. #...# #...# ..#.. ##### ##### ..... ..#.. ..... #.... .#.#.",
    ),
    (
        "=,*",
        "..... ..... .....",
        "..... ..... #.#.#",
        "##### ..... .###.",
        "..... ..... #####",
        "##### .##.. .###.",
        "..... .##.. #.#.#",
        "..... .#... .....",
    ),
)


def _read_strips() -> Mask:
    """Return the glyphs of all bytes (256, 7, 6), one blank column after each character."""
    glyphs = {" ": np.zeros((GLYPH_HEIGHT, GLYPH_WIDTH), np.bool_)}
    for characters, *rows in _STRIPS:
        strip = np.array([[dot == "#" for dot in row] for row in rows])
        for i, character in enumerate(characters):
            glyphs[character] = strip[:, i * ADVANCE : i * ADVANCE + GLYPH_WIDTH]
    table = np.zeros((256, GLYPH_HEIGHT, ADVANCE), np.bool_)
    for code in range(256):
        table[code, :, :GLYPH_WIDTH] = glyphs.get(chr(code).upper(), glyphs["?"])
    return table


_GLYPHS = _read_strips()


@lru_cache(maxsize=8)
def _glyphs_of(size: int) -> Mask:
    """Return the glyphs of all bytes with every dot ``size`` pixels wide and high."""
    return _GLYPHS.repeat(size, axis=1).repeat(size, axis=2)


def text_mask(text: str, size: int = 1) -> Mask:
    """Return a (7 * size, 6 * size * len(text)) bool array, True where ``text`` has ink.

    Small letters are drawn as capitals, characters that the font lacks as question marks.
    """
    mask: Mask = lines_mask([text], len(text), size)[0]
    return mask


def lines_mask(lines: Sequence[str], num_characters: int, size: int = 1) -> Mask:
    """Return (len(lines), 7 * size, 6 * size * num_characters) bool, True where the lines have ink.

    All lines are cut off or continued to ``num_characters``.
    """
    text = "".join(f"{line[:num_characters]:{num_characters}}" for line in lines)
    codes = np.frombuffer(text.encode("latin-1", "replace"), np.uint8).reshape(len(lines), num_characters)
    glyphs: Mask = _glyphs_of(size)[codes].transpose(0, 2, 1, 3)
    return glyphs.reshape(len(lines), GLYPH_HEIGHT * size, ADVANCE * size * num_characters)


def draw_text(
    image: npt.NDArray[np.uint8], top: int, left: int, text: str, color: tuple[int, int, int], size: int
) -> None:
    """Write ``text`` over (h, w, 3) ``image`` from row ``top``, column ``left``; edges cut it off."""
    area = image[max(top, 0) :, max(left, 0) :]
    ink = text_mask(text, size)[max(-top, 0) :, max(-left, 0) :][: area.shape[0], : area.shape[1]]
    area[: ink.shape[0], : ink.shape[1]][ink] = color
