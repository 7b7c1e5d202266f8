"""The panel beside a board: who leads, with how much land and how many troops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.render.board import Image
from territorial.render.figures import Standing, standings
from territorial.render.palette import player_colors
from territorial.render.team_colors import Teams
from territorial.render.text import SMALLEST, Color, capital_height, draw_text, fitting

PAPER = (24, 28, 36)
"""What panels and posters are drawn on."""
INK = (226, 228, 232)
FAINT = (120, 126, 136)

_LINE = 11  # a row of the standings, in pixels at size 1, as all that follow
_MARGIN = 2  # above the first line
_WIDTH = 192
_SEAT, _NAME, _LAND, _TROOPS = 24, 41, 148, 188  # where a column ends; that of names begins
_SWATCH_AT, _SWATCH = 30, 8
_NAME_WIDTH = 72
_NUM_HEADINGS = 2


class _PanelRow(NamedTuple):
    """One line of a panel: the texts of its columns and their colour."""

    seat: str
    name: str
    land: str
    troops: str
    color: Color


def panel_width(size: int) -> int:
    """Return the width in pixels of a panel of lines of ``size``."""
    return _WIDTH * size


def panel_size(height: int, num_lines: int) -> int:
    """Return 2, the size of lines, or 1 where ``num_lines`` of that size do not fit into ``height``."""
    return 2 if 2 * (_MARGIN + (num_lines + _NUM_HEADINGS) * _LINE) <= height else 1


def standings_panel(
    height: int,
    land: npt.NDArray[np.int64],
    troops: npt.NDArray[np.int64],
    num_land: int,
    *,
    title: str = "",
    names: Sequence[str] | None = None,
    size: int = 2,
    teams: Teams | None = None,
) -> Image:
    """Return a (height, 192 * size, 3) uint8 picture of the standings, the leader on top.

    ``land`` and ``troops`` hold the (P,) cells and balances of seats 1..P, ``num_land`` the land
    cells of the map. Each line, 11 * ``size`` pixels high, shows a seat's number, its colour, its name if
    ``names`` are given, its share of the land and its troops; seats without land are faint. With ``teams``,
    the team 1..N of each seat, members stand below a line of their team. Lines that do not fit below are
    left out.
    """
    room = max(0, (height - _MARGIN * size) // (_LINE * size))
    rows = standings(land, troops, num_land, names, max(0, room - _NUM_HEADINGS), teams)
    lines = [
        _PanelRow("", title, "", "", INK),
        _PanelRow("", "player", "land", "troops", FAINT),
        *map(_row, rows),
    ]
    panel, letters = blank(height, panel_width(size)), letter_size(size)
    is_wide = [True, False, *(not row.seat for row in rows)]
    for i, (line, has_room) in enumerate(zip(lines[:room], is_wide, strict=False)):
        _write_row(panel, _baseline(i, size), line, size, letters, is_wide=has_room)
    colors = player_colors(len(land), teams)
    for i, row in enumerate(rows, start=_NUM_HEADINGS):
        if not row.seat:
            continue
        below, left = _baseline(i, size), _SWATCH_AT * size
        panel[below - _SWATCH * size : below, left : left + _SWATCH * size] = colors[row.seat - 1]
    return panel


def letter_size(size: int) -> int:
    """Return the size of letters in lines of ``size``, in pixels."""
    return max(SMALLEST, 10 * size)


def _baseline(line: int, size: int) -> int:
    """Return the row on which the letters of a line stand: digits and capitals are in its middle."""
    free = _LINE * size - capital_height(letter_size(size))
    return (_MARGIN + (line + 1) * _LINE) * size - free // 2


def _row(row: Standing) -> _PanelRow:
    return _PanelRow(str(row.seat or ""), row.name, row.share, row.troops, INK if row.has_land else FAINT)


def _write_row(
    panel: Image, baseline: int, row: _PanelRow, size: int, letters: int, *, is_wide: bool
) -> None:
    """Write a line; ``is_wide``: one of a title or a team, which begins where others have their colour."""
    left = (_SWATCH_AT if is_wide else _NAME) * size
    name = fitting(row.name, letters, _WIDTH * size - left if not row.land else _NAME_WIDTH * size)
    draw_text(panel, baseline, left, name, row.color, letters)
    for right, text in ((_SEAT, row.seat), (_LAND, row.land), (_TROOPS, row.troops)):
        draw_text(panel, baseline, right * size, text, row.color, letters, "right")


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
