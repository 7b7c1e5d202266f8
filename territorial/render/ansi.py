"""Boards and standings as terminal text, coloured or plain.

In colour a character is two cells: its upper half is one cell, the background of its lower half the cell
below. Without colours it shows the upper of the two, and every seat is a digit or a letter.
"""

import os
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, TextIO

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.config.validation import one_of, whole_number
from territorial.constants import BLOCKED, MAX_PLAYERS, NEUTRAL
from territorial.render.board import (
    Owners,
    Teams,
    check_owner,
    checked_teams,
    is_light,
    owner_colors,
    xterm_colors,
)
from territorial.render.figures import Standing, num_living, standings
from territorial.render.labels import find_places

ColorDepth = Literal["24bit", "256", "none"]
COLOR_DEPTHS: tuple[ColorDepth, ...] = ("24bit", "256", "none")

_RESET = "\x1b[0m"
_UPPER_HALF, _SQUARE = "▀", "■"
_SIGNS = string.digits[1:] + string.ascii_lowercase + string.ascii_uppercase
_SIGN_OF_OTHERS, _SIGN_OF_NEUTRAL = "*", "."
_SIGNS_OF_TERRAIN: dict[Terrain, str] = {"water": "~", "mountains": "^"}
_NAME_LENGTH = 10
# Characters of one player in the standings.
_ENTRY = 30
# Lines that the standings take at most.
_MOST_STANDINGS = 4
# Codes of colours beside the owner codes, which end at 250.
_BLACK, _WHITE, _NOTHING = 252, 253, 254


def color_depth(environ: Mapping[str, str] | None = None) -> ColorDepth:
    """Return which colours the terminal of ``environ`` (``os.environ``) has, or wants.

    None where ``NO_COLOR`` is set to anything but the empty string (no-color.org) or ``TERM`` is "dumb";
    24 bits where ``COLORTERM`` says so, and in Windows Terminal; else the 256 that terminals have.
    """
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return "none"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "WT_SESSION" in environ:
        return "24bit"
    return "256"


def color_depth_of(stream: TextIO) -> ColorDepth:
    """Return which colours ``stream`` shows: none unless it is a terminal that has the signs for them."""
    try:
        (_UPPER_HALF + _SQUARE).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "none"
    return color_depth() if stream.isatty() else "none"


def _checked_depth(colors: ColorDepth | None) -> ColorDepth:
    if colors is not None:
        one_of("colors", colors, COLOR_DEPTHS)
    return colors or color_depth()


class TextRenderer:
    """Draws games as text: a heading, the board scaled down to fit, and the leaders below.

    Args:
        num_players: P, 1 to 250.
        names: one for every seat; None: numbers alone.
        columns: characters of a line at most, from 20.
        lines: lines at most, from 8; None: as many as it takes.
        colors: "24bit", "256" or "none"; None: what :func:`color_depth` finds.
        teams: the team 1..N of each seat: lines of teams stand above those of players; None: there are none.

    """

    def __init__(
        self,
        num_players: int,
        *,
        names: Sequence[str] | None = None,
        columns: int = 80,
        lines: int | None = None,
        colors: ColorDepth | None = None,
        teams: Sequence[int] | None = None,
    ) -> None:
        self._num_players = whole_number("num_players", num_players, 1, MAX_PLAYERS)
        self._names = names
        self._columns = whole_number("columns", columns, 20)
        self._lines = None if lines is None else whole_number("lines", lines, 8)
        self._depth = _checked_depth(colors)
        self._teams = checked_teams(teams, self._num_players)

    def draw(
        self,
        owner: Owners,
        land: npt.ArrayLike,
        troops: npt.ArrayLike,
        *,
        tick: int | None = None,
        terrain: Terrain = "water",
    ) -> str:
        """Return the text, lines separated by newlines; arguments as for ``Renderer.draw``."""
        cells, balances = np.asarray(land, np.int64), np.asarray(troops, np.int64)
        rows = standings(cells, balances, int((owner != BLOCKED).sum()), self._names, teams=self._teams)
        leaders = [line for teams in (True, False) for line in self._leaders(rows, is_of_teams=teams)]
        room = None if self._lines is None else self._lines - 1 - len(leaders)
        board = render_ansi(
            owner,
            self._num_players,
            columns=self._columns,
            lines=room,
            colors=self._depth,
            terrain=terrain,
            teams=self._teams,
        )
        return "\n".join([num_living(cells, self._teams, tick), board, *leaders])

    def close(self) -> None:
        """Nothing: text needs no closing."""

    def _leaders(self, rows: Sequence[Standing], *, is_of_teams: bool) -> list[str]:
        """Return as many seats, or teams, with land as fit into some lines."""
        entries = [self._entry(row) for row in rows if row.has_land and is_of_teams == (row.seat == 0)]
        per_line = max(1, self._columns // _ENTRY)
        lines = ["".join(entries[i : i + per_line]).rstrip() for i in range(0, len(entries), per_line)]
        return lines[:_MOST_STANDINGS]

    def _entry(self, row: Standing) -> str:
        who = f"{self._mark(row.seat)}{row.seat:>4}" if row.seat else " " * 5
        return f"{who} {row.name[:_NAME_LENGTH]:{_NAME_LENGTH}}{row.share:>6}{row.troops:>6}  "

    def _mark(self, seat: int) -> str:
        """Return the one character that stands for a seat."""
        if self._depth == "none":
            return str(_signs("water")[seat])
        shades = _shades(self._num_players, self._depth, "water", self._teams)
        return f"\x1b[38;{shades[seat]}m{_SQUARE}{_RESET}"


def render_ansi(
    owner: Owners,
    num_players: int,
    *,
    columns: int = 80,
    lines: int | None = None,
    colors: ColorDepth | None = None,
    terrain: Terrain = "water",
    teams: Sequence[int] | None = None,
) -> str:
    """Return (H, W) uint8 owner codes as text, lines parted by newlines, with seat numbers on it in colour.

    The board is scaled down to ``columns`` characters a line and to ``lines``, and never up. ``colors`` is
    "24bit", "256" or "none"; None: what :func:`color_depth` finds. ``terrain`` and
    ``teams`` as in ``render_board``.
    """
    check_owner(owner, num_players)
    columns = whole_number("columns", columns, 1)
    lines = None if lines is None else whole_number("lines", lines, 1)
    depth = _checked_depth(colors)
    allied = checked_teams(teams, num_players)
    cells = _scaled_down(owner, columns, lines)
    if depth == "none":
        return "\n".join(map("".join, _signs(terrain)[cells[::2]].tolist()))
    shades = _shades(num_players, depth, terrain, allied)
    text = _text_of(cells, num_players, allied)
    lines_of_text = zip(*(part.tolist() for part in text), strict=True)
    return "\n".join(_line(shades, *line) for line in lines_of_text)


# ---- what stands where -----------------------------------------------------------------------------


def _scaled_down(owner: Owners, columns: int, lines: int | None) -> Owners:
    """Return the cells that are shown: evenly spaced ones, where there are too many."""
    height, width = owner.shape
    share = min(1.0, columns / width, 2 * lines / height if lines else 1.0)
    rows, across = max(1, round(height * share)), max(1, round(width * share))
    r, c = ((np.arange(n) + 0.5) * size / n for n, size in ((rows, height), (across, width)))
    return owner[r.astype(np.int64)[:, None], c.astype(np.int64)]


def _text_of(
    cells: Owners, num_players: int, teams: Teams | None
) -> tuple[npt.NDArray[np.str_], Owners, Owners]:
    """Return two rows of cells as a line of text, with the number of every seat where there is room for it.

    These are three arrays (lines, columns): characters, and the codes of the colours of each, or of the upper
    half, and of what is behind it, or of the lower half.
    """
    places = find_places(cells, num_players)
    if len(cells) % 2:
        cells = np.vstack([cells, np.full_like(cells[:1], _NOTHING)])
    upper, lower = cells[::2].copy(), cells[1::2].copy()
    sign = np.where(upper == lower, " ", _UPPER_HALF)
    is_dark = ~is_light(owner_colors(num_players, teams=teams))
    for seat in np.flatnonzero(places.row[1:] >= 0) + 1:
        number = str(seat)
        line, left = places.row[seat] // 2, max(0, places.column[seat] - len(number) // 2)
        area = np.s_[line, left : left + len(number)]
        if (upper[area] == seat).all() and (lower[area] == seat).all():
            sign[area] = list(number)[: len(sign[area])]
            upper[area] = _WHITE if is_dark[seat] else _BLACK
    return sign, upper, lower


# ---- how it is written -----------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _shades(num_players: int, depth: ColorDepth, terrain: Terrain, teams: Teams | None) -> dict[int, str]:
    """Return the terminal code of a colour, after the number that selects foreground or background."""
    rgb = owner_colors(num_players, terrain, teams)
    rgb[_WHITE] = 255
    codes = [NEUTRAL, BLOCKED, _BLACK, _WHITE, *range(1, num_players + 1)]
    if depth == "24bit":
        shades = [f"2;{r};{g};{b}" for r, g, b in rgb[codes].tolist()]
    else:
        shades = [f"5;{number}" for number in xterm_colors(rgb[codes]).tolist()]
    return dict(zip(codes, shades, strict=True))


@lru_cache(maxsize=len(_SIGNS_OF_TERRAIN))
def _signs(terrain: Terrain) -> npt.NDArray[np.str_]:
    """Return (256,), the characters of owner codes where there are no colours."""
    one_of("terrain", terrain, _SIGNS_OF_TERRAIN)
    signs = np.full(256, _SIGN_OF_OTHERS)
    signs[1 : len(_SIGNS) + 1] = list(_SIGNS)
    signs[[NEUTRAL, BLOCKED]] = _SIGN_OF_NEUTRAL, _SIGNS_OF_TERRAIN[terrain]
    return signs


def _line(shades: Mapping[int, str], signs: list[str], upper: list[int], lower: list[int]) -> str:
    runs = []
    for (over, under), run in groupby(zip(upper, lower, signs, strict=True), key=lambda cell: cell[:2]):
        behind = "49" if under == _NOTHING else f"48;{shades[under]}"
        front = "" if over == under else f"38;{shades[over]};"
        runs.append(f"\x1b[{front}{behind}m{''.join(cell[2] for cell in run)}")
    return "".join(runs) + _RESET
