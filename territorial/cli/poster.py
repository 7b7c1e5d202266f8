"""The picture that ``territorial play`` leaves: four boards, the standings, land over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from territorial.cli.standings import Standing
from territorial.config import GameConfig
from territorial.engine import VecGame
from territorial.map_names import Terrain
from territorial.render import owner_colors, player_colors, render_board
from territorial.render.font import ADVANCE, GLYPH_HEIGHT, text_mask

Image = npt.NDArray[np.uint8]
T = TypeVar("T")

BOARD_PIXELS = 512
"""About the longer side of a board in the picture."""
MOMENTS = (0.05, 0.2, 0.45)
"""Parts of the game at which boards are shown, beside its end."""

_PAPER = (24, 28, 36)
_INK = (226, 228, 232)
_FAINT = (120, 126, 136)
_SIZE = 2
_GAP = 16
_LINE = (GLYPH_HEIGHT + 3) * _SIZE
_CHARACTERS = 33
_PANEL_WIDTH = (_CHARACTERS + 1) * ADVANCE * _SIZE
_CHART_HEIGHT = 200
"""At least; it takes what room the standings leave."""


class Title(NamedTuple):
    """What is written on top."""

    name: str
    seed: int
    config: GameConfig
    terrain: Terrain


class Board(NamedTuple):
    """A board at some tick."""

    tick: int
    num_alive: int
    owner: npt.NDArray[np.uint8]


# ---- collecting ----------------------------------------------------------------------------------


class Thinned(Generic[T]):
    """At most ``capacity`` samples, evenly spaced over all steps so far, of however long a game."""

    def __init__(self, capacity: int) -> None:
        self.samples: list[T] = []
        self._capacity, self._stride = capacity, 1

    def offer(self, step: int, take: Callable[[], T]) -> None:
        """Take a sample if ``step`` is due; the steps are 0, 1, 2 ..."""
        if step % self._stride != 0:
            return
        if len(self.samples) == self._capacity:
            del self.samples[1::2]
            self._stride *= 2
            if step % self._stride != 0:
                return
        self.samples.append(take())


class Album:
    """What is kept of a game while it is played: some boards, and the land of everybody over time.

    How long a game lasts is known only at its end, so boards are kept at even distances and thinned
    out; that costs about a millisecond a game.
    """

    def __init__(self) -> None:
        self._boards: Thinned[Board] = Thinned(64)
        self._land: Thinned[npt.NDArray[np.int64]] = Thinned(256)

    def look(self, game: VecGame, step: int) -> None:
        """Keep what is due before environment step ``step``."""
        self._boards.offer(step, lambda: _board_of(game))
        self._land.offer(step, lambda: game.state.land[0].copy())

    def close(self, game: VecGame) -> None:
        """Keep the end, whenever it came."""
        self._boards.samples.append(_board_of(game))
        self._land.samples.append(game.state.land[0].copy())

    def moments(self) -> list[Board]:
        """Return the boards nearest to MOMENTS, then the last one."""
        boards = self._boards.samples
        wanted = [part * boards[-1].tick for part in MOMENTS]
        return [*(min(boards, key=lambda b: abs(b.tick - tick)) for tick in wanted), boards[-1]]

    def land(self) -> npt.NDArray[np.int64]:
        """Return int64 (samples, P+1): the land of every owner code, evenly spaced in time."""
        return np.array(self._land.samples)


def _board_of(game: VecGame) -> Board:
    state = game.state
    return Board(int(state.tick[0]), int(state.alive[0].sum()), state.owner[0, 1:-1, 1:-1].copy())


# ---- drawing -------------------------------------------------------------------------------------


def draw_poster(title: Title, album: Album, standings: Sequence[Standing]) -> Image:
    """Return the picture of a game as uint8 (height, width, 3)."""
    tiles = [_tile(board, title.config, title.terrain) for board in album.moments()]
    rows = [np.hstack(tiles[:2]), np.hstack(tiles[2:])]
    boards = np.vstack(rows)
    height = max(len(boards), _CHART_HEIGHT + 8 * _LINE)
    panel = _panel(height, title, album, standings)
    boards = np.vstack([boards, _blank(height - len(boards), boards.shape[1])])
    return np.hstack([boards, panel])


def _tile(board: Board, config: GameConfig, terrain: Terrain) -> Image:
    """One board with a line about it below."""
    scale = max(1, BOARD_PIXELS // max(board.owner.shape))
    picture = render_board(board.owner, config.num_players, scale, terrain)
    height, width, _ = picture.shape
    tile = _blank(_GAP + height + _LINE + _GAP // 2, width + _GAP)
    tile[_GAP : _GAP + height, _GAP:] = picture
    _write(tile, _GAP + height + 6, _GAP, f"tick {board.tick}  {board.num_alive} alive", _INK)
    return tile


def _panel(height: int, title: Title, album: Album, standings: Sequence[Standing]) -> Image:
    """The title, the standings, and everybody's land over time below."""
    panel = _blank(height, _PANEL_WIDTH)
    config = title.config
    left, top = ADVANCE * _SIZE, _GAP
    _write(panel, top, left, f"{title.name}  seed {title.seed}", _INK)
    _write(panel, top + _LINE, left, f"{config.height} x {config.width}  {config.map_name}", _FAINT)
    top += 3 * _LINE
    _write(panel, top, left, f"{'':4}  {'':11}{'land':>6}{'troops':>9}", _FAINT)
    room = (height - _CHART_HEIGHT - _GAP - 3 * _LINE - top) // _LINE
    for row in standings[:room]:
        top += _LINE
        _write_standing(panel, top, left, row, config.num_players)
    top += 2 * _LINE
    _write(panel, top, left, "land over time", _FAINT)
    area = panel[top + _LINE : height - _LINE - _GAP // 2, left : _PANEL_WIDTH - _GAP]
    area[:] = _chart(album.land(), standings, area.shape[0], area.shape[1])
    return panel


def _write_standing(panel: Image, top: int, left: int, row: Standing, num_players: int) -> None:
    ink = GLYPH_HEIGHT * _SIZE
    swatch = left + 5 * ADVANCE * _SIZE
    panel[top : top + ink, swatch : swatch + ink] = player_colors(num_players)[row.seat - 1]
    if row.death_tick is None:
        outcome, color = f"{row.land_percent:5.1f}%{_short(row.troops):>9}", _INK
    else:
        outcome, color = f"died {row.death_tick}".rjust(15), _FAINT
    _write(panel, top, left, f"{row.place:>4g}   {row.bot[:10]:10}{outcome}", color)


def _chart(land: npt.NDArray[np.int64], standings: Sequence[Standing], height: int, width: int) -> Image:
    """Bands as wide as everybody's share of the land, the winner at the bottom, free land on top."""
    order = [0, *(row.seat for row in reversed(standings))]
    tops = land[:, order].cumsum(axis=1) / land[0].sum()
    place = np.linspace(0, len(land) - 1, width)
    columns = np.array([np.interp(place, np.arange(len(land)), top) for top in tops.T])
    y = (np.arange(height) + 0.5) / height
    band = [columns.T[x].searchsorted(y).clip(max=len(order) - 1) for x in range(width)]
    chart: Image = owner_colors(len(standings))[np.array(order)[np.transpose(band)]]
    return chart


def _blank(height: int, width: int) -> Image:
    return np.full((height, width, 3), _PAPER, np.uint8)


def _write(image: Image, top: int, left: int, text: str, color: tuple[int, int, int]) -> None:
    """Write ``text`` over ``image``, cut off at its edges."""
    area = image[top:, left:]
    ink = text_mask(text, _SIZE)[: area.shape[0], : area.shape[1]]
    area[: ink.shape[0], : ink.shape[1]][ink] = color


def _short(number: int) -> str:
    """A number in at most seven characters: 9999, 10.0K, 1.2M."""
    if number < 10_000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1000:.1f}K"
    return f"{number / 1_000_000:.1f}M"
