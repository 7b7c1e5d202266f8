"""The picture that ``territorial demo`` leaves: four boards, the standings, land over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from territorial.cli.standings import SeatStanding, TeamStanding
from territorial.config import GameConfig
from territorial.config.map_names import Terrain
from territorial.constants import BLOCKED, NEUTRAL
from territorial.engine.vec_game import VecGame
from territorial.render import Renderer, owner_colors, player_colors
from territorial.render.figures import num_living, short, team_name
from territorial.render.renderer import FAINT, INK, blank, fitting_scale
from territorial.render.text import Align, Color, capital_height, draw_text, fitting, text_width
from territorial.replay import Frame, frame_of

Image = npt.NDArray[np.uint8]
T = TypeVar("T")

BOARD_PIXELS = 512
"""About the longer side of a board in the picture."""
MOMENTS = (0.05, 0.2, 0.45)
"""Parts of the game at which boards are shown, beside its end."""

_SIZE = 18  # of letters, in pixels, as all that follow
_CAPITAL = capital_height(_SIZE)
_GAP = 16
_LINE = 21
_MARK = 6  # on an axis
_PANEL_WIDTH = 480
_LEFT = 14
_PLACE, _SEAT, _SWATCH, _BOT, _LAND, _TROOPS = 26, 80, 98, 124, 346, 440  # of _LEFT: where columns stand
_BOT_WIDTH = 150
_CHART_HEIGHT = 200
"""At least; it takes what room the standings leave."""


class Title(NamedTuple):
    """What is written on top."""

    name: str
    seed: int
    config: GameConfig
    terrain: Terrain


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
    """What is kept of a game while it is played: some boards, and the land of all players over time.

    How long a game lasts is known only at its end, so boards are kept at even distances and thinned
    out; that costs some milliseconds a game.
    """

    def __init__(self, num_boards: int) -> None:
        self._boards: Thinned[Frame] = Thinned(num_boards)
        self._land: Thinned[npt.NDArray[np.int64]] = Thinned(256)

    def look(self, game: VecGame, step: int) -> None:
        """Keep what is due before environment step ``step``."""
        self._boards.offer(step, lambda: frame_of(game))
        self._land.offer(step, lambda: game.state.land[0].copy())

    def close(self, game: VecGame) -> None:
        """Keep the end, whenever it came."""
        self._boards.samples.append(frame_of(game))
        self._land.samples.append(game.state.land[0].copy())

    def moments(self) -> list[Frame]:
        """Return the boards nearest to MOMENTS, then the last one."""
        boards = self._boards.samples
        wanted = [part * boards[-1].tick for part in MOMENTS]
        return [*(min(boards, key=lambda b: abs(b.tick - tick)) for tick in wanted), boards[-1]]

    def boards(self) -> list[Frame]:
        """Return all boards that were kept, the last one included."""
        return self._boards.samples

    def land(self) -> npt.NDArray[np.int64]:
        """Return int64 (samples, P+1): the land of every owner code, evenly spaced in time."""
        return np.array(self._land.samples)


# ---- drawing -------------------------------------------------------------------------------------


def draw_poster(
    title: Title, album: Album, standings: Sequence[SeatStanding], teams: Sequence[TeamStanding] = ()
) -> Image:
    """Return the picture of a game as uint8 (height, width, 3)."""
    team_of = _teams_of_seats(standings)
    tiles = [_tile(board, title.config, title.terrain, team_of) for board in album.moments()]
    rows = [np.hstack(tiles[:2]), np.hstack(tiles[2:])]
    boards = np.vstack(rows)
    height = max(len(boards), _CHART_HEIGHT + 8 * _LINE)
    panel = _panel(height, title, album, standings, teams)
    boards = np.vstack([boards, blank(height - len(boards), boards.shape[1])])
    return np.hstack([boards, panel])


def _teams_of_seats(standings: Sequence[SeatStanding]) -> tuple[int, ...] | None:
    """Return the team of each seat 1..P; None if no seat has an ally."""
    in_order = [row.team for row in sorted(standings, key=lambda row: row.seat)]
    return None if None in in_order else tuple(team for team in in_order if team is not None)


def _tile(board: Frame, config: GameConfig, terrain: Terrain, team_of: tuple[int, ...] | None) -> Image:
    """One board with the numbers of its seats, and a line about it below."""
    scale = fitting_scale(board.owner.shape, BOARD_PIXELS)
    renderer = Renderer(config.num_players, scale=scale, panel=False, teams=team_of)
    picture = renderer.draw(board.owner, board.land, board.troops, terrain=terrain)
    height, width, _ = picture.shape
    tile = blank(_GAP + height + _LINE + _GAP // 2, width + _GAP)
    tile[_GAP : _GAP + height, _GAP:] = picture
    _write(
        tile,
        _GAP + height + 6,
        _GAP,
        f"tick {board.tick}  {num_living(board.alive.astype(np.int64), team_of)}",
        INK,
    )
    return tile


def _panel(
    height: int,
    title: Title,
    album: Album,
    standings: Sequence[SeatStanding],
    teams: Sequence[TeamStanding],
) -> Image:
    """The title, the standings, and all players' land over time below."""
    panel = blank(height, _PANEL_WIDTH)
    config = title.config
    left, top = _LEFT, _GAP
    _write(panel, top, left, f"{title.name}  seed {title.seed}", INK)
    _write(panel, top + _LINE, left, f"{config.height} x {config.width}  {config.map_name}", FAINT)
    top += 3 * _LINE
    for column, heading in ((_SEAT, "seat"), (_LAND, "land"), (_TROOPS, "troops")):
        _write(panel, top, left + column, heading, FAINT, "right")
    room = (height - _CHART_HEIGHT - _GAP - 5 * _LINE - top) // _LINE
    colors = player_colors(config.num_players, _teams_of_seats(standings))
    for row in _lines(standings, teams)[:room]:
        top += _LINE
        if isinstance(row, TeamStanding):
            _write_team(panel, top, left, row)
        else:
            _write_standing(panel, top, left, row, colors[row.seat - 1])
    top += 2 * _LINE
    _write_legend(panel, top, left, title.terrain)
    top += 2 * _LINE
    _write(panel, top, left, "share of land over ticks", FAINT)
    area = panel[top + _LINE : height - _GAP // 2, left : _PANEL_WIDTH - _GAP]
    _draw_chart(area, album, standings)
    return panel


def _lines(
    standings: Sequence[SeatStanding], teams: Sequence[TeamStanding]
) -> list[SeatStanding | TeamStanding]:
    """Return the lines of the standings: teams, each above its members, or seats alone."""
    if not teams:
        return list(standings)
    lines = list[SeatStanding | TeamStanding]()
    for team in teams:
        lines.append(team)
        lines += [row for row in standings if row.team == team.team]
    return lines


def _write_team(panel: Image, top: int, left: int, row: TeamStanding) -> None:
    color = INK if row.out_tick is None else FAINT
    _write(panel, top, left + _PLACE, f"{row.place:g}", color, "right")
    _write(panel, top, left + _PLACE + _CAPITAL, team_name(row.team), color)
    for column, text in _sums(row.share, row.troops, row.out_tick, "out"):
        _write(panel, top, left + column, text, color, "right")


def _write_standing(
    panel: Image, top: int, left: int, row: SeatStanding, swatch: npt.NDArray[np.uint8]
) -> None:
    _draw_swatch(panel, top, left + _SWATCH, swatch)
    color = INK if row.death_tick is None else FAINT
    _write(panel, top, left + _BOT, fitting(row.bot, _SIZE, _BOT_WIDTH), color)
    for column, text in outcome_columns(row):
        _write(panel, top, left + column, text, color, "right")


def outcome_columns(row: SeatStanding) -> list[tuple[int, str]]:
    """Return the numbers of a line of the standings, and where each ends."""
    place = f"{row.place:g}" if row.team is None else ""  # the line of its team has it
    return [(_PLACE, place), (_SEAT, str(row.seat)), *_sums(row.share, row.troops, row.death_tick, "died")]


def _sums(share: str, troops: int, end_tick: int | None, ended: str) -> list[tuple[int, str]]:
    if end_tick is not None:
        return [(_TROOPS, f"{ended} {end_tick}")]
    return [(_LAND, share), (_TROOPS, short(troops))]


def _write_legend(panel: Image, top: int, left: int, terrain: Terrain) -> None:
    """Say what the two colours without an owner are."""
    colors = owner_colors(0, terrain)
    for code, meaning in ((NEUTRAL, "free land"), (BLOCKED, terrain)):
        _draw_swatch(panel, top, left, colors[code])
        _write(panel, top, left + 2 * _CAPITAL, meaning, FAINT)
        left += 5 * _CAPITAL + text_width(meaning, _SIZE)


def _draw_swatch(panel: Image, top: int, left: int, color: npt.NDArray[np.uint8]) -> None:
    panel[top : top + _CAPITAL, left : left + _CAPITAL] = color


def _draw_chart(area: Image, album: Album, standings: Sequence[SeatStanding]) -> None:
    """Draw all players' land over time, with shares on its left and ticks below."""
    left, below = text_width("100%", _SIZE) + 2 * _MARK, _LINE + _MARK
    height, width = area.shape[0] - below, area.shape[1] - left
    area[:height, left:] = _bands(album.land(), standings, height, width)
    for share in (0, 50, 100):
        row = (height - 1) * (100 - share) // 100
        area[row, left - _MARK : left] = FAINT
        text = min(max(row - _CAPITAL // 2, 0), height - _CAPITAL)
        _write(area, text, left - 2 * _MARK, f"{share}%", FAINT, "right")
    last = album.moments()[-1].tick
    for tick in range(0, last + 1, round_step(last, 4)):
        column = left + (width - 1) * tick // max(last, 1)
        area[height : height + _MARK, column] = FAINT
        label = str(tick)
        middle = min(column, area.shape[1] - text_width(label, _SIZE) // 2 - 1)
        _write(area, height + _MARK + 3, middle, label, FAINT, "middle")


def round_step(last: int, most: int) -> int:
    """Return the least of 1, 2, 5, 10, 20, 50 ... of which at most ``most`` lead from 0 to ``last``."""
    step = 1
    while last // step > most:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


def _bands(land: npt.NDArray[np.int64], standings: Sequence[SeatStanding], height: int, width: int) -> Image:
    """Bands as wide as each player's share of the land, the winner at the bottom, free land on top."""
    team_of = _teams_of_seats(standings)
    order = [0, *(row.seat for row in reversed(standings))]
    tops = land[:, order].cumsum(axis=1) / land[0].sum()
    place = np.linspace(0, len(land) - 1, width)
    columns = np.array([np.interp(place, np.arange(len(land)), top) for top in tops.T])
    y = (np.arange(height) + 0.5) / height
    band = [columns.T[x].searchsorted(y).clip(max=len(order) - 1) for x in range(width)]
    bands: Image = owner_colors(len(standings), teams=team_of)[np.array(order)[np.transpose(band)]]
    return bands


def _write(image: Image, top: int, column: int, text: str, color: Color, align: Align = "left") -> None:
    """Write ``text``, whose capitals begin at row ``top``."""
    draw_text(image, top + _CAPITAL, column, text, color, _SIZE, align)
