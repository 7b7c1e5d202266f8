"""Pictures of maps: one or a sheet of many as pixels, and one as half blocks for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.land_mask import LandMask
from territorial.config.map_names import Terrain
from territorial.maps.lands import resized
from territorial.render import owner_colors
from territorial.render.text import capital_height, text_width
from territorial.render.text import draw_text as write_text

Image = npt.NDArray[np.uint8]

TILE_PIXELS = 256
"""About the longer side of a map in a picture."""
_PAPER, _INK, _FAINT = (24, 28, 36), (226, 228, 232), (150, 156, 166)
_OUT_OF_PLAY = (122, 118, 106)
_GAP = 12
_SIZE = 20  # of letters, in pixels: they are read where five maps are as wide as a page
_LINE = 24
_HALF_BLOCKS = " ▀▄█"
_SIGNS = "#."


class MapTile(NamedTuple):
    """A map with what is written below it."""

    whole: LandMask
    """All land, what cannot be reached included."""
    land: LandMask
    terrain: Terrain
    lines: tuple[str, ...]


def draw_sheet(tiles: Sequence[MapTile]) -> Image:
    """Return an RGB picture, uint8 (h, w, 3), of maps in rows; land out of play is darker."""
    pictures = [_draw_tile(tile) for tile in tiles]
    height, width = (max(picture.shape[axis] for picture in pictures) for axis in (0, 1))
    columns = max(1, isqrt(3 * len(tiles) // 2))
    rows = -(-len(tiles) // columns)
    sheet = _paper(rows * (height + _GAP) + _GAP, columns * (width + _GAP) + _GAP)
    for i, picture in enumerate(pictures):
        top, left = _GAP + i // columns * (height + _GAP), _GAP + i % columns * (width + _GAP)
        sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return sheet


def _draw_tile(tile: MapTile) -> Image:
    scale = max(1, TILE_PIXELS // max(tile.land.height, tile.land.width))
    neutral, blocked = owner_colors(0, tile.terrain)[[0, 255]]
    cells = np.where(tile.land.to_array(), 2, tile.whole.to_array())
    colors = np.array([blocked, _OUT_OF_PLAY, neutral], np.uint8)
    board = colors[cells].repeat(scale, axis=0).repeat(scale, axis=1)
    width = max(board.shape[1], *(text_width(line, _SIZE) for line in tile.lines))
    picture = _paper(board.shape[0] + len(tile.lines) * _LINE + _GAP // 2, width)
    picture[: board.shape[0], : board.shape[1]] = board
    for i, line in enumerate(tile.lines):
        baseline = board.shape[0] + _GAP // 2 + i * _LINE + capital_height(_SIZE)
        write_text(picture, baseline, 0, line, _INK if i == 0 else _FAINT, _SIZE)
    return picture


def _paper(height: int, width: int) -> Image:
    return np.full((height, width, 3), _PAPER, np.uint8)


def draw_text(land: LandMask, columns: int, encoding: str | None) -> str:
    """Return the map as text at most ``columns`` wide: two cells a character, or one where that cannot be.

    A cell that stands for several is land if half of them are.
    """
    width = min(columns, land.width)
    height = max(1, land.height * width // land.width)
    if not _can_encode(_HALF_BLOCKS, encoding):
        cells = resized(land.to_array(), max(1, height // 2), width)
        return "\n".join("".join(_SIGNS[cell] for cell in row) for row in cells.astype(int).tolist())
    cells = resized(land.to_array(), height + height % 2, width).astype(np.int64)
    halves = cells[::2] + 2 * cells[1::2]
    return "\n".join("".join(_HALF_BLOCKS[half] for half in row).rstrip() for row in halves.tolist())


def _can_encode(text: str, encoding: str | None) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
