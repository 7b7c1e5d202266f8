"""``Renderer``: pictures of a game, its labels and its standings."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.config.validation import true_or_false, whole_number
from territorial.constants import BLOCKED, MAX_PLAYERS
from territorial.render.board import (
    LARGEST_SCALE,
    Image,
    Owners,
    Teams,
    checked_teams,
    player_colors,
    render_board,
)
from territorial.render.figures import Standing, num_living, standings
from territorial.render.labels import (
    SMALLEST,
    Places,
    capital_height,
    draw_labels,
    draw_text,
    find_places,
    fitting,
)

PAPER = (24, 28, 36)
"""What panels are drawn on."""
INK = (226, 228, 232)
FAINT = (120, 126, 136)

_LINE = 11  # a row of the standings, in pixels at size 1, as all that follow
_MARGIN = 2  # above the first line
_WIDTH = 192
_SEAT, _NAME, _LAND, _TROOPS = 24, 41, 148, 188  # where a column ends; that of names begins
_SWATCH_AT, _SWATCH = 30, 8
_NAME_WIDTH = 72
_NUM_HEADINGS = 2
_COLUMNS = -1  # what the names of columns have as a seat


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
    headings = Standing(0, title, "", "", True), Standing(_COLUMNS, "player", "land", "troops", False)
    panel, colors = blank(height, _WIDTH * size), player_colors(len(land), teams)
    for i, row in enumerate([*headings, *rows][:room]):
        below, left = _baseline(i, size), _SWATCH_AT * size
        _write_row(panel, below, row, size)
        if row.seat > 0:
            panel[below - _SWATCH * size : below, left : left + _SWATCH * size] = colors[row.seat - 1]
    return panel


def letter_size(size: int) -> int:
    """Return the size of letters in lines of ``size``, in pixels."""
    return max(SMALLEST, 10 * size)


def _baseline(line: int, size: int) -> int:
    """Return the row on which the letters of a line stand: digits and capitals are in its middle."""
    free = _LINE * size - capital_height(letter_size(size))
    return (_MARGIN + (line + 1) * _LINE) * size - free // 2


def _write_row(panel: Image, baseline: int, row: Standing, size: int) -> None:
    """Write a line; that of a title or a team, of seat 0, begins where others have their colour."""
    color, letters = INK if row.has_land else FAINT, letter_size(size)
    left = (_NAME if row.seat else _SWATCH_AT) * size
    name = fitting(row.name, letters, _NAME_WIDTH * size if row.share else _WIDTH * size - left)
    draw_text(panel, baseline, left, name, color, letters)
    seat = str(row.seat) if row.seat > 0 else ""
    for right, text in ((_SEAT, seat), (_LAND, row.share), (_TROOPS, row.troops)):
        draw_text(panel, baseline, right * size, text, color, letters, "right")


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


PICTURE_SIDE = 768
"""Pixels that the longer side of a board is brought up to unless a scale is given."""

# Pixels that a panel is high at least, beside boards that are long and low.
_LEAST_PANEL = 160


def fitting_scale(shape: tuple[int, ...], side: int = PICTURE_SIDE) -> int:
    """Return the pixels per cell that make the longer side of a board ``side`` pixels or less."""
    return min(max(1, side // max(shape)), LARGEST_SCALE)


class Renderer:
    """Draws the pictures of one game, one after the other; all are of one size.

    It remembers where the labels stood, so that they rest in an animation: use one for every game.

    Args:
        num_players: P, 1 to 250.
        names: one for every seat, shown with its number; None: numbers alone.
        scale: pixels per cell, 1 to 64; None: what makes the longer side of the board 768 pixels or
            the next below.
        labels: whether seats and troops stand on the board.
        panel: whether the standings stand beside it.
        teams: the team 1..N of each seat: allies have colours of one family and stand together; None: none.

    """

    def __init__(
        self,
        num_players: int,
        *,
        names: Sequence[str] | None = None,
        scale: int | None = None,
        labels: bool = True,
        panel: bool = True,
        teams: Sequence[int] | None = None,
    ) -> None:
        self._num_players = whole_number("num_players", num_players, 1, MAX_PLAYERS)
        self._names = None if names is None else [str(name) for name in names]
        if self._names is not None:
            self._check_per_seat("names", (len(self._names),))
        self._scale = None if scale is None else whole_number("scale", scale, 1, LARGEST_SCALE)
        self._has_labels = true_or_false("labels", labels)
        self._has_panel = true_or_false("panel", panel)
        self._teams = checked_teams(teams, self._num_players)
        self._colors = player_colors(self._num_players, self._teams)
        self._places: Places | None = None

    def draw(
        self,
        owner: Owners,
        land: npt.ArrayLike,
        troops: npt.ArrayLike,
        *,
        tick: int | None = None,
        terrain: Terrain = "water",
    ) -> Image:
        """Return a new picture, uint8 (h, w, 3).

        ``owner`` (H, W) uint8 are the owner codes of the cells, 0 neutral, 1..P, 255 blocked. ``land`` and
        ``troops`` (P,) are the cells and balances of seats 1..P; ``tick`` stands above the standings;
        ``terrain`` says what blocked cells are, "water" or "mountains".
        """
        cells, balances = np.asarray(land, np.int64), np.asarray(troops, np.int64)
        self._check_per_seat("land", cells.shape)
        self._check_per_seat("troops", balances.shape)
        scale = fitting_scale(owner.shape) if self._scale is None else self._scale
        picture = render_board(owner, self._num_players, scale, terrain, self._teams)
        if self._has_labels:
            self._places = find_places(owner, self._num_players, self._places)
            draw_labels(picture, self._places, scale, self._colors, balances, self._names, self._teams)
        if not self._has_panel:
            return picture
        height = max(picture.shape[0], _LEAST_PANEL)
        panel = standings_panel(
            height,
            cells,
            balances,
            int((owner != BLOCKED).sum()),
            title=num_living(cells, self._teams, tick),
            names=self._names,
            size=panel_size(height, self._num_players + max(self._teams or (0,))),
            teams=self._teams,
        )
        return beside(picture, panel)

    def close(self) -> None:
        """Nothing: pictures need no closing."""

    def _check_per_seat(self, name: str, shape: tuple[int, ...]) -> None:
        if shape != (self._num_players,):
            raise ValueError(
                f"{name} has shape {shape}; it must be ({self._num_players},): one for each seat"
            )
