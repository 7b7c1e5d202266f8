"""Colours of a board: 32 that tell seats apart at a glance, rules for more and for teams, and the terrain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.config.validation import one_of
from territorial.constants import BLOCKED, MAX_PLAYERS, NEUTRAL
from territorial.render.color_vision import LUMA
from territorial.render.team_colors import Colors, checked_teams, team_colors

NEUTRAL_COLOR = (232, 228, 214)
TERRAIN_COLORS: dict[Terrain, tuple[int, int, int]] = {
    "water": (40, 58, 84),
    "mountains": (84, 78, 74),
}
"""What blocked cells look like."""

# Found by `maintainers/search_palette.py`, which widens the smallest difference (CIEDE2000) between any two
# of them and the terrain, for people with all cones and for those who lack one kind. In this order each seat
# is about as far as can be from all seats before it, so games of few seats gain most.
# fmt: off
_SEATS = (
    0xFF18E7, 0x249249, 0x86DB31, 0x6D1800, 0xFF869E, 0xC2DBFF, 0x795500, 0x9E616D,
    0x0024FF, 0x8692AA, 0x492431, 0xE7493D, 0xF3B692, 0xB61886, 0xF3FF00, 0xCEFFC2,
    0xCEB6C2, 0x495531, 0x618686, 0xFFDB86, 0x926DAA, 0x9E8679, 0x797900, 0x3DB69E,
    0x00616D, 0xCE9200, 0xAAAA61, 0xB6FFFF, 0x0092F3, 0xE79EFF, 0x550C86, 0x0061B6,
)
# fmt: on

# sRGB to CIE XYZ, and the white point D65 (IEC 61966-2-1).
_XYZ_FROM_LINEAR = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def player_colors(num_players: int, teams: Sequence[int] | None = None) -> Colors:
    """Return a (num_players, 3) uint8 array of the RGB colours of seats 1, 2 ...

    ``teams``: the team 1..N of each seat; allies have colours of one family of hues. Without teams, or with
    teams of one, a seat's colour does not depend on how many there are.
    """
    if not 0 <= num_players <= MAX_PLAYERS:
        raise ValueError(f"num_players is {num_players}; it must be from 0 to {MAX_PLAYERS}")
    allied = checked_teams(teams, num_players)
    if allied is not None:
        return team_colors(allied, (NEUTRAL_COLOR, *TERRAIN_COLORS.values())).copy()
    if num_players <= len(_SEATS):
        return _unpack(_SEATS)[:num_players]
    return _all_player_colors()[:num_players].copy()


def owner_colors(num_players: int, terrain: Terrain = "water", teams: Sequence[int] | None = None) -> Colors:
    """Return a (256, 3) uint8 array, the RGB colour of each owner code; unused codes are black.

    ``teams`` as in ``player_colors``.
    """
    one_of("terrain", terrain, TERRAIN_COLORS)
    colors = np.zeros((256, 3), np.uint8)
    colors[NEUTRAL] = NEUTRAL_COLOR
    colors[1 : num_players + 1] = player_colors(num_players, teams)
    colors[BLOCKED] = TERRAIN_COLORS[terrain]
    return colors


def is_light(colors: Colors) -> npt.NDArray[np.bool_]:
    """Return (n,) bool: on which of (n, 3) RGB colours black is read better than white."""
    light: npt.NDArray[np.bool_] = colors @ LUMA > 110_000
    return light


@cache
def _xterm_table() -> Colors:
    """The colours 16 to 255 of terminals that have 256: a cube of 6 levels, and 24 greys."""
    levels = np.array([0, 95, 135, 175, 215, 255], np.uint8)
    cube = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    greys = np.arange(8, 248, 10, dtype=np.uint8)[:, None].repeat(3, axis=1)
    return np.vstack([cube, greys])


def xterm_colors(colors: Colors) -> npt.NDArray[np.int64]:
    """Return (n,) numbers 16 to 255, the terminal colours nearest to (n, 3) RGB colours.

    No two are the same while there are others left, in the order of ``colors``.
    """
    table = _cielab(_xterm_table())
    is_free = np.ones(len(table), np.bool_)
    numbers = []
    for color in _cielab(colors):
        distance = _squared_distance(table, color)
        if is_free.any():
            distance[~is_free] = np.iinfo(np.int64).max
        nearest = int(distance.argmin())
        is_free[nearest] = False
        numbers.append(nearest + 16)
    return np.array(numbers, np.int64)


def _unpack(packed: tuple[int, ...]) -> Colors:
    """Split 0xRRGGBB numbers into an (n, 3) array."""
    return np.array([[c >> 16, c >> 8 & 255, c & 255] for c in packed], np.uint8)


@cache
def _all_player_colors() -> Colors:
    """The colours of all 250 seats: beyond the 32, always the candidate furthest from the rest."""
    candidates = _candidates()
    seats = _unpack(_SEATS)
    terrain = np.array([NEUTRAL_COLOR, *TERRAIN_COLORS.values()], np.uint8)
    seen = _cielab(candidates)
    room = np.min([_squared_distance(seen, c) for c in _cielab(np.vstack([seats, terrain]))], axis=0)
    chosen = []
    for _ in range(MAX_PLAYERS - len(seats)):
        best = int(room.argmax())
        chosen.append(best)
        room = np.minimum(room, _squared_distance(seen, seen[best]))
    return np.vstack([seats, candidates[chosen]])


def _candidates() -> Colors:
    """RGB colours on a grid, those as dark as ink or as light as paper left out."""
    levels = np.arange(8, 256, 16, dtype=np.uint8)
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    luma = grid @ LUMA
    kept: Colors = grid[(luma > 60_000) & (luma < 225_000)]
    return kept


def _cielab(rgb: Colors) -> npt.NDArray[np.int64]:
    """CIELAB coordinates (D65) of (n, 3) sRGB colours in hundredths, where distance is as seen.

    Whole numbers, so that the last digits of a machine's floats cannot decide between two colours.
    """
    c = rgb / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _XYZ_FROM_LINEAR.T / _WHITE
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    x, y, z = f.T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
    hundredths: npt.NDArray[np.int64] = np.rint(100 * lab).astype(np.int64)
    return hundredths


def _squared_distance(colors: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    squares: npt.NDArray[np.int64] = ((colors - other) ** 2).sum(axis=1)
    return squares
