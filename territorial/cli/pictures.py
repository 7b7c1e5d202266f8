"""Pictures and animations that verbs write of a game."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

import numpy as np

from territorial.cli.standings import Standing
from territorial.config import GameConfig
from territorial.config.map_names import Terrain
from territorial.evaluation.progress import ProgressLine
from territorial.render import Renderer, owner_colors, standings_panel, write_gif
from territorial.render.board import Image
from territorial.render.figures import num_living
from territorial.render.renderer import FAINT, INK, beside, blank, fitting_scale
from territorial.render.text import Align, Color, capital_height, draw_text, text_width
from territorial.replay import Frame, LiveGame, Replay

HOLD = 2
"""Seconds for which the last picture of an animation stays."""
BOARD_PIXELS = 512
"""About the longer side of a board in a picture or an animation."""
MOMENTS = (0.05, 0.2, 0.45)
"""Parts of the game at which boards are shown, beside its end."""


_SIZE = 18  # of letters, in pixels, as all that follow
_CAPITAL = capital_height(_SIZE)
_GAP = 16
_LINE = 21
_MARK = 6  # on an axis
_CHART_HEIGHT = 250
"""At least, with its title; it takes what room the standings leave."""
_PANEL_LINE, _NUM_OTHER_LINES, _LEAST_LINES = 22, 3, 8
"""Pixels of a line of the standings; lines that are none of a player; lines that there are at least."""


# ---- animations --------------------------------------------------------------------------------------


def write_animation(path: str, source: Replay | LiveGame, frames: Iterable[Frame], fps: float) -> int:
    """Draw ``frames`` of a game into a file and return how many pictures it has; the last one stays a while.

    Says on stderr how far it has come.
    """
    config = source.config
    scale = fitting_scale((config.height, config.width), BOARD_PIXELS)
    renderer = Renderer(config.num_players, names=source.names, scale=scale, teams=source.teams)
    pictures = _drawn(renderer, frames, source.terrain, round(HOLD * fps))
    return write_gif(path, pictures, fps)


def draw_frame(renderer: Renderer, frame: Frame, terrain: Terrain) -> Image:
    """Return a frame of a game as a picture, uint8 (height, width, 3)."""
    return renderer.draw(
        frame.owner, frame.land, frame.troops, tick=frame.tick, terrain=terrain, gifts=frame.gifts
    )


def _drawn(renderer: Renderer, frames: Iterable[Frame], terrain: Terrain, hold: int) -> Iterator[Image]:
    line = ProgressLine()
    for count, frame in enumerate(frames, start=1):
        picture = draw_frame(renderer, frame, terrain)
        yield picture
        line.show(f"animation: {count} pictures, tick {frame.tick:,}")
    line.close()
    yield from repeat(picture, hold)


def rhythm(config: GameConfig, ticks: int, most: int) -> int:
    """Return the ticks from one picture to the next, whole decisions, of a game with ``most`` pictures."""
    decision = config.decision_every
    return decision * -(-ticks // (decision * most)) or decision


# ---- four boards, the standings, land over time ------------------------------------------------------


def draw_poster(
    title: str, game: Replay | LiveGame, frames: Sequence[Frame], standings: Sequence[Standing]
) -> Image:
    """Return the picture of a game as uint8 (height, width, 3), from frames at even distances and its end."""
    last = frames[-1]
    moments = [min(frames, key=lambda one: abs(one.tick - part * last.tick)) for part in MOMENTS]
    tiles = [_tile(frame, game) for frame in (*moments, last)]
    boards = np.vstack([np.hstack(tiles[:2]), np.hstack(tiles[2:])])
    lines = len(standings) + max(game.teams or (0,)) + _NUM_OTHER_LINES
    height = min(lines * _PANEL_LINE, max(len(boards) - _CHART_HEIGHT, _LEAST_LINES * _PANEL_LINE))
    panel = standings_panel(
        height, last.land, last.troops, game.num_land, title=title, names=game.names, teams=game.teams
    )
    chart = blank(max(len(boards) - height, _CHART_HEIGHT), panel.shape[1])
    _write(chart, 0, _GAP, f"{game.config.height} x {game.config.width}  {game.config.map_name}", FAINT)
    _write(chart, _LINE, _GAP, "share of land over ticks", FAINT)
    _draw_chart(chart[2 * _LINE : -_GAP // 2, _GAP:-_GAP], game, frames, standings)
    return beside(boards, np.vstack([panel, chart]))


def _tile(board: Frame, game: Replay | LiveGame) -> Image:
    """One board with the numbers of its seats, and a line about it below."""
    scale = fitting_scale(board.owner.shape, BOARD_PIXELS)
    renderer = Renderer(len(board.land), scale=scale, panel=False, teams=game.teams)
    picture = renderer.draw(board.owner, board.land, board.troops, terrain=game.terrain)
    height, width, _ = picture.shape
    tile = blank(_GAP + height + _LINE + _GAP // 2, width + _GAP)
    tile[_GAP : _GAP + height, _GAP:] = picture
    text = num_living(board.alive.astype(np.int64), game.teams, board.tick)
    _write(tile, _GAP + height + 6, _GAP, text, INK)
    return tile


def _draw_chart(
    area: Image, game: Replay | LiveGame, frames: Sequence[Frame], standings: Sequence[Standing]
) -> None:
    """Draw all players' land over time, with shares on its left and ticks below."""
    left, below = text_width("100%", _SIZE) + 2 * _MARK, _LINE + _MARK
    height, width = area.shape[0] - below, area.shape[1] - left
    area[:height, left:] = _bands(game, frames, standings, height, width)
    for share in (0, 50, 100):
        row = (height - 1) * (100 - share) // 100
        area[row, left - _MARK : left] = FAINT
        text = min(max(row - _CAPITAL // 2, 0), height - _CAPITAL)
        _write(area, text, left - 2 * _MARK, f"{share}%", FAINT, "right")
    last = frames[-1].tick
    for tick in range(0, last + 1, round_step(last, 4)):
        column, label = left + (width - 1) * tick // max(last, 1), str(tick)
        area[height : height + _MARK, column] = FAINT
        middle = min(column, area.shape[1] - text_width(label, _SIZE) // 2 - 1)
        _write(area, height + _MARK + 3, middle, label, FAINT, "middle")


def round_step(last: int, most: int) -> int:
    """Return the least of 1, 2, 5, 10, 20, 50 ... of which at most ``most`` lead from 0 to ``last``."""
    step = 1
    while last // step > most:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


def _bands(
    game: Replay | LiveGame,
    frames: Sequence[Frame],
    standings: Sequence[Standing],
    height: int,
    width: int,
) -> Image:
    """Bands as wide as each player's share of the land, the winner at the bottom, free land on top."""
    land = np.array([[game.num_land - frame.land.sum(), *frame.land] for frame in frames])
    order = [0, *(row.seat for row in reversed(standings))]
    tops = land[:, order].cumsum(axis=1) / game.num_land
    place = np.linspace(0, len(land) - 1, width)
    columns = np.array([np.interp(place, np.arange(len(land)), top) for top in tops.T])
    y = (np.arange(height) + 0.5) / height
    band = [columns.T[x].searchsorted(y).clip(max=len(order) - 1) for x in range(width)]
    bands: Image = owner_colors(len(standings), teams=game.teams)[np.array(order)[np.transpose(band)]]
    return bands


def _write(image: Image, top: int, column: int, text: str, color: Color, align: Align = "left") -> None:
    """Write ``text`` with the tops of its capitals at row ``top``."""
    draw_text(image, top + _CAPITAL, column, text, color, _SIZE, align)
