"""Boards and standings as text for terminals: half blocks in colour, or plain signs without.

In colour a character is two cells: its upper half is one cell, the background of its lower half the cell
below. Without colours it shows the upper of the two, and every seat is a digit or a letter.
"""

from __future__ import annotations

import os
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.config.validation import one_of, whole_number
from territorial.constants import BLOCKED, MAX_PLAYERS, NEUTRAL
from territorial.render.board import Owners, check_owner
from territorial.render.colors import Teams, checked_teams, is_light, owner_colors, xterm_colors
from territorial.render.figures import Standing, num_living, standings
from territorial.render.labels import find_places
from territorial.typing import Ints

ColorDepth = Literal["24bit", "256", "none"]
COLOR_DEPTHS: tuple[ColorDepth, ...] = ("24bit", "256", "none")

_RESET = "\x1b[0m"
_UPPER_HALF, _SQUARE = "▀", "■"
_SIGNS = string.digits[1:] + string.ascii_lowercase + string.ascii_uppercase
_SIGN_OF_OTHERS, _SIGN_OF_NEUTRAL = "*", "."
_SIGNS_OF_TERRAIN: dict[Terrain, str] = {"water": "~", "mountains": "^"}
_NAME_LENGTH = 10
_ENTRY = 30
"""Characters of one player in the standings."""
_MOST_STANDINGS = 4
"""Lines that the standings take at most."""
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


class TextRenderer:
    """Draws games as text: a heading, the board scaled down to what fits, and the leaders below.

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
        self._depth = color_depth() if colors is None else colors
        self._teams = checked_teams(teams, self._num_players)
        # Terrain has no line below.
        self._paint = _paint_of(self._num_players, self._depth, "water", self._teams)

    def draw(
        self,
        owner: Owners,
        land: npt.ArrayLike,
        troops: npt.ArrayLike,
        *,
        tick: int | None = None,
        terrain: Terrain = "water",
        gifts: Ints | None = None,
    ) -> str:
        """Return the text, lines parted by newlines; the arguments are those of ``Renderer.draw``.

        Text does not show ``gifts``.
        """
        cells, balances = np.asarray(land, np.int64), np.asarray(troops, np.int64)
        alive = num_living(cells, self._teams)
        heading = alive if tick is None else f"tick {tick}  {alive}"
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
        return "\n".join([heading, board, *leaders])

    def close(self) -> None:
        """Nothing: text needs no closing."""

    def _leaders(self, rows: Sequence[Standing], *, is_of_teams: bool) -> list[str]:
        """Return as many seats, or teams, with land as fit into some lines."""
        entries = [self._entry(row) for row in rows if row.has_land and is_of_teams == (row.seat == 0)]
        per_line = max(1, self._columns // _ENTRY)
        lines = ["".join(entries[i : i + per_line]).rstrip() for i in range(0, len(entries), per_line)]
        return lines[:_MOST_STANDINGS]

    def _entry(self, row: Standing) -> str:
        name = row.name[:_NAME_LENGTH]
        who = f"{self._paint.mark(row.seat)}{row.seat:>4}" if row.seat else " " * 5
        return f"{who} {name:{_NAME_LENGTH}}{row.share:>6}{row.troops:>6}  "


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
    allied = checked_teams(teams, num_players)
    paint = _paint_of(num_players, color_depth() if colors is None else colors, terrain, allied)
    text = _text_of(_scaled_down(owner, columns, lines))
    if paint.has_colors:
        _write_numbers(text, num_players, allied)
    return "\n".join(paint.lines(text))


# ---- what stands where -----------------------------------------------------------------------------


class _Text(NamedTuple):
    """Characters with the codes of their colours: three arrays (lines, columns)."""

    sign: npt.NDArray[np.str_]
    upper: Owners
    """Of the sign, or the upper half."""
    lower: Owners
    """Of what is behind it, or the lower half."""


def _scaled_down(owner: Owners, columns: int, lines: int | None) -> Owners:
    """Return the cells that are shown: evenly spaced ones, where there are too many."""
    height, width = owner.shape
    share = min(1.0, columns / width, 2 * lines / height if lines else 1.0)
    rows, across = max(1, round(height * share)), max(1, round(width * share))
    r, c = ((np.arange(n) + 0.5) * size / n for n, size in ((rows, height), (across, width)))
    cells: Owners = owner[r.astype(np.int64)[:, None], c.astype(np.int64)]
    return cells


def _text_of(cells: Owners) -> _Text:
    """Return two rows of cells as a line of text."""
    if len(cells) % 2:
        cells = np.vstack([cells, np.full_like(cells[:1], _NOTHING)])
    upper, lower = cells[::2].copy(), cells[1::2].copy()
    return _Text(np.where(upper == lower, " ", _UPPER_HALF), upper, lower)


def _write_numbers(text: _Text, num_players: int, teams: Teams | None) -> None:
    """Write the number of every seat where there is room for it."""
    cells = np.stack([text.upper, text.lower], axis=1).reshape(-1, text.upper.shape[1])
    is_dark = ~is_light(owner_colors(num_players, teams=teams))
    places = find_places(np.where(cells == _NOTHING, NEUTRAL, cells).astype(np.uint8), num_players)
    for seat in np.flatnonzero(places.row[1:] >= 0) + 1:
        number = str(seat)
        line, left = places.row[seat] // 2, max(0, places.column[seat] - len(number) // 2)
        area = np.s_[line, left : left + len(number)]
        if (text.upper[area] == seat).all() and (text.lower[area] == seat).all():
            text.sign[area] = list(number)[: len(text.sign[area])]
            text.upper[area] = _WHITE if is_dark[seat] else _BLACK


# ---- how it is written -----------------------------------------------------------------------------


class _Paint:
    """Turns owner codes into what a terminal understands."""

    def __init__(self, num_players: int, depth: ColorDepth, terrain: Terrain, teams: Teams | None) -> None:
        one_of("colors", depth, COLOR_DEPTHS)
        self.has_colors = depth != "none"
        rgb = owner_colors(num_players, terrain, teams)
        rgb[_WHITE] = 255
        codes = [NEUTRAL, BLOCKED, _BLACK, _WHITE, *range(1, num_players + 1)]
        if depth == "24bit":
            shades = [f"2;{r};{g};{b}" for r, g, b in rgb[codes].tolist()]
        else:
            shades = [f"5;{number}" for number in xterm_colors(rgb[codes]).tolist()]
        self._shades = dict(zip(codes, shades, strict=True))
        self._signs = np.full(256, _SIGN_OF_OTHERS)
        self._signs[1 : min(num_players, len(_SIGNS)) + 1] = list(_SIGNS[:num_players])
        self._signs[[NEUTRAL, BLOCKED]] = _SIGN_OF_NEUTRAL, _SIGNS_OF_TERRAIN[terrain]

    def lines(self, text: _Text) -> list[str]:
        """Return the lines of ``text`` as strings, every one with colours of its own."""
        if not self.has_colors:
            return ["".join(line) for line in self._signs[text.upper].tolist()]
        return [self._line(*line) for line in zip(*(part.tolist() for part in text), strict=True)]

    def mark(self, seat: int) -> str:
        """Return the one character that stands for a seat."""
        if not self.has_colors:
            return str(self._signs[seat])
        return f"\x1b[38;{self._shades[seat]}m{_SQUARE}{_RESET}"

    def _line(self, signs: list[str], upper: list[int], lower: list[int]) -> str:
        runs = []
        for (over, under), run in groupby(zip(upper, lower, signs, strict=True), key=lambda cell: cell[:2]):
            behind = "49" if under == _NOTHING else f"48;{self._shades[under]}"
            front = "" if over == under else f"38;{self._shades[over]};"
            runs.append(f"\x1b[{front}{behind}m{''.join(cell[2] for cell in run)}")
        return "".join(runs) + _RESET


@lru_cache(maxsize=8)
def _paint_of(num_players: int, depth: ColorDepth, terrain: Terrain, teams: Teams | None) -> _Paint:
    return _Paint(num_players, depth, terrain, teams)
