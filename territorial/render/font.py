"""A bitmap font of digits, capitals and a few signs, so that pictures need no font file."""

from __future__ import annotations

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


def _read_strips() -> dict[str, Mask]:
    glyphs = {" ": np.zeros((GLYPH_HEIGHT, GLYPH_WIDTH), np.bool_)}
    for characters, *rows in _STRIPS:
        strip = np.array([[dot == "#" for dot in row] for row in rows])
        for i, character in enumerate(characters):
            glyphs[character] = strip[:, i * ADVANCE : i * ADVANCE + GLYPH_WIDTH]
    return glyphs


_GLYPHS = _read_strips()


def text_mask(text: str, size: int = 1) -> Mask:
    """Return a (7 * size, 6 * size * len(text)) bool array, True where ``text`` has ink.

    Small letters are drawn as capitals, characters that the font lacks as question marks.
    """
    mask = np.zeros((GLYPH_HEIGHT, ADVANCE * len(text)), np.bool_)
    for i, character in enumerate(text):
        glyph = _GLYPHS.get(character.upper(), _GLYPHS["?"])
        mask[:, i * ADVANCE : i * ADVANCE + GLYPH_WIDTH] = glyph
    return mask.repeat(size, axis=0).repeat(size, axis=1)
