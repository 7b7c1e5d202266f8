"""Pictures of boards, with lines between owners."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.config.validation import whole_number
from territorial.constants import BLOCKED
from territorial.render.colors import Colors, Teams, checked_teams, owner_colors

Owners = npt.NDArray[np.uint8]
Image = npt.NDArray[np.uint8]

LARGEST_SCALE = 64
_ABOVE, _BELOW, _LEFT, _RIGHT = 1, 2, 4, 8  # sides of a cell on which another owner begins
_SIDES = 16


def render_board(
    owner: Owners,
    num_players: int,
    scale: int = 3,
    terrain: Terrain = "water",
    teams: Sequence[int] | None = None,
) -> Image:
    """Return the (H * scale, W * scale, 3) uint8 RGB picture of (H, W) uint8 owner codes.

    Every cell is a square of ``scale`` pixels, 1 to 64. The sides of cells are darker where the owner
    changes, those of neutral land excepted: a border with it is a single line, one between players
    double. ``terrain`` says what blocked cells are: "water" or "mountains". ``teams``, the team 1..N of each
    seat, gives allies colours of one family. Raises ValueError for arguments out of range.
    """
    check_owner(owner, num_players)
    tiles = _tiles(
        num_players,
        whole_number("scale", scale, 1, LARGEST_SCALE),
        terrain,
        checked_teams(teams, num_players),
    )
    height, width = owner.shape
    image = np.empty((height, scale, width, 3 * scale), np.uint8)
    index = _tile_index(owner, num_players)
    for y in range(scale):  # taking whole lines of tiles is five times as fast as painting over
        image[:, y] = tiles[y].take(index, axis=0)
    return image.reshape(height * scale, width * scale, 3)


def check_owner(owner: Owners, num_players: int) -> None:
    """Raise ValueError unless ``owner`` is a board of 0, 1..P and 255."""
    if not isinstance(owner, np.ndarray) or owner.ndim != 2 or owner.dtype != np.uint8 or owner.size == 0:
        found = f"a {owner.dtype} array of shape {owner.shape}" if hasattr(owner, "dtype") else repr(owner)
        raise ValueError(f"owner is {found}; it must be uint8, (H, W)")
    is_unknown = (owner > num_players) & (owner != BLOCKED)
    if is_unknown.any():
        row, column = np.argwhere(is_unknown)[0].tolist()
        raise ValueError(
            f"owner[{row}, {column}] is {owner[row, column]}; it must be 0 to num_players, {num_players}, "
            f"or {BLOCKED}"
        )


def _tile_index(owner: Owners, num_players: int) -> npt.NDArray[np.uint16]:
    """Return which tile each cell is: its owner, blocked cells P + 1, and the sides that are borders."""
    between_rows = (owner[1:] != owner[:-1]).view(np.uint8)
    between_columns = (owner[:, 1:] != owner[:, :-1]).view(np.uint8)
    sides = np.zeros(owner.shape, np.uint8)
    sides[1:] += _ABOVE * between_rows
    sides[:-1] += _BELOW * between_rows
    sides[:, 1:] += _LEFT * between_columns
    sides[:, :-1] += _RIGHT * between_columns
    index = np.minimum(owner, num_players + 1).astype(np.uint16)
    index *= _SIDES
    index += sides
    return index


@lru_cache(maxsize=8)
def _tiles(num_players: int, scale: int, terrain: Terrain, teams: Teams | None) -> Colors:
    """Return all squares there can be, by lines: (scale, (P + 2) * 16, 3 * scale) uint8."""
    colors = owner_colors(num_players, terrain, teams)[[*range(num_players + 1), BLOCKED]]
    dark = (colors.astype(np.uint16) * 9 // 16).astype(np.uint8)[:, None, None]
    tiles = np.empty((num_players + 2, _SIDES, scale, scale, 3), np.uint8)
    tiles[:] = colors[:, None, None, None]
    line = max(1, scale // 4)
    for sides in range(_SIDES):
        for side, area in (
            (_ABOVE, np.s_[:line, :]),
            (_BELOW, np.s_[-line:, :]),
            (_LEFT, np.s_[:, :line]),
            (_RIGHT, np.s_[:, -line:]),
        ):
            if sides & side:
                tiles[1:, sides][:, *area] = dark[1:]  # neutral land, 0, keeps its colour
    lines = tiles.transpose(2, 0, 1, 3, 4).reshape(scale, -1, 3 * scale)
    return np.ascontiguousarray(lines)
