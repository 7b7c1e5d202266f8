"""The panel beside a board: who leads, with how much land and how many troops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from territorial.render.board import Image
from territorial.render.figures import Standing, standings
from territorial.render.font import ADVANCE, GLYPH_HEIGHT, lines_mask
from territorial.render.palette import player_colors

PAPER = (24, 28, 36)
"""What panels and posters are drawn on."""
INK = (226, 228, 232)
FAINT = (120, 126, 136)

_COLORS = np.array([PAPER, FAINT, INK], np.uint8)
_FAINT_INDEX, _INK_INDEX = 1, 2

_LINE = GLYPH_HEIGHT + 3
_MARGIN = 2  # dots above the first line
_NAME_LENGTH = 10
_CHARACTERS = 32
_SWATCH = 5  # the character in whose place a line has its colour
_NUM_HEADINGS = 2
_HEADING = f"{'':7}{'PLAYER':{_NAME_LENGTH}}{'LAND':>7}{'TROOPS':>7}"


def panel_width(size: int) -> int:
    """Return the width in pixels of a panel whose letters have dots of ``size`` pixels."""
    return _CHARACTERS * ADVANCE * size


def panel_size(height: int, num_players: int) -> int:
    """Return 2, the size of letters, or 1 where the lines of all seats do not fit into ``height`` else."""
    return 2 if 2 * (_MARGIN + (num_players + _NUM_HEADINGS) * _LINE) <= height else 1


def standings_panel(
    height: int,
    land: npt.NDArray[np.int64],
    troops: npt.NDArray[np.int64],
    num_land: int,
    *,
    title: str = "",
    names: Sequence[str] | None = None,
    size: int = 2,
) -> Image:
    """Return a (height, 192 * size, 3) uint8 picture of the standings, the leader on top.

    ``land`` and ``troops`` hold the (P,) cells and balances of seats 1..P, ``num_land`` the land
    cells of the map. Each line shows a seat's number, its colour, its name if ``names`` are given,
    its share of the land and its troops; seats without land are faint. Lines that do not fit below
    are left out.
    """
    room = max(0, (height - _MARGIN * size) // (_LINE * size))
    rows = standings(land, troops, num_land, names, limit=max(0, room - _NUM_HEADINGS))
    lines = [title and f" {title}", _HEADING, *map(_line, rows)][:room]
    colors = [_INK_INDEX, _FAINT_INDEX, *(_INK_INDEX if row.has_land else _FAINT_INDEX for row in rows)]
    panel = blank(height, panel_width(size))
    dots_across, count = _CHARACTERS * ADVANCE, len(lines)
    area = panel[_MARGIN * size :][: count * _LINE * size].reshape(count, _LINE, size, dots_across, 3 * size)
    index = lines_mask(lines, _CHARACTERS) * np.array(colors[:room], np.uint8)[:, None, None]
    dots = _COLORS.repeat(size, axis=0).reshape(len(_COLORS), 3 * size)  # the pixels of one, side by side
    area[:, :GLYPH_HEIGHT] = dots.take(index, axis=0)[:, :, None]
    owners = player_colors(len(land))[[row.seat - 1 for row in rows]]
    swatches = area[_NUM_HEADINGS:, :GLYPH_HEIGHT, :, _SWATCH * ADVANCE : _SWATCH * ADVANCE + GLYPH_HEIGHT]
    swatches[:] = np.tile(owners, size)[:, None, None, None]
    return panel


def _line(row: Standing) -> str:
    return f"{row.seat:>4}   {row.name[:_NAME_LENGTH]:{_NAME_LENGTH}}{row.share:>7}{row.troops:>7}"


def beside(left: Image, right: Image) -> Image:
    """Return two pictures next to each other, the lower one continued in the panel's colour."""
    image = blank(max(left.shape[0], right.shape[0]), left.shape[1] + right.shape[1])
    image[: left.shape[0], : left.shape[1]] = left
    image[: right.shape[0], left.shape[1] :] = right
    return image


def blank(height: int, width: int) -> Image:
    """Return an empty sheet, uint8 (height, width, 3)."""
    sheet = np.empty((height, 3 * width), np.uint8)
    sheet[:] = np.tile(np.array(PAPER, np.uint8), width)  # by lines: ten times as fast as by pixels
    return sheet.reshape(height, width, 3)
