"""Colours of seats, teams and terrain, and pictures of boards, with lines between owners.

Members of a team have shades of one family of hues. Of each seat in turn the shade is taken that is furthest
from all before it and from the terrain, for people with all cones and for those who lack one kind. What the
eyes of some confuse differs in lightness at least.
"""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.config.validation import one_of, whole_number
from territorial.constants import BLOCKED, MAX_PLAYERS, NEUTRAL
from territorial.typing import Floats, Ints

# What people without one kind of cones see, as linear RGB from linear RGB: G. M. Machado, M. M. Oliveira and
# L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", 2009.
VIEWS: dict[str, list[list[float]]] = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}

LUMA = np.array([299, 587, 114])
"""Parts of red, green and blue in how light a colour is, in thousandths (ITU-R BT.601)."""

# sRGB to CIE XYZ (IEC 61966-2-1).
_XYZ_FROM_LINEAR = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def seen(rgb: npt.ArrayLike, view: str = "all cones") -> Floats:
    """Return CIELAB coordinates (D65), (n, 3), of (n, 3) sRGB colours 0..255 as they are seen in a view."""
    c = np.asarray(rgb) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(VIEWS[view]).T, 0, 1)
    xyz = linear @ _XYZ_FROM_LINEAR.T / (0.95047, 1, 1.08883)
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


Colors = npt.NDArray[np.uint8]
Teams = tuple[int, ...]
"""The team 1..N of every seat 1..P."""

# Luma of candidates in thousandths, from what differs from ink to what differs from paper.
_DARKEST_AND_LIGHTEST = 45_000, 232_000
# Less than this looks grey, in whatever hue.
_LEAST_CHROMA = 20
# How far apart colours shall be in each view, in proportion.
_WEIGHTS = {"all cones": 1.9, "deuteranopia": 1.0, "protanopia": 1.0, "tritanopia": 0.9}
# The middle of the first family, in degrees of CIELAB: red.
_FIRST_HUE = 30
# The part of a family's share of the circle of hues that it takes: between families there are gaps.
_FAMILY = 0.6


def checked_teams(teams: Sequence[int] | None, num_players: int) -> Teams | None:
    """Return the team 1..N of each seat, as a tuple; None where no seat has an ally.

    Raises ValueError unless there is one for each seat.
    """
    if teams is None:
        return None
    if len(teams) != num_players:
        raise ValueError(f"teams has {len(teams)} entries; it must have one for each of {num_players} seats")
    checked = tuple(int(team) for team in teams)
    if min(checked, default=1) < 1:
        raise ValueError(f"teams has {min(checked)}; the teams of seats are whole numbers from 1")
    return checked if len(set(checked)) < len(checked) else None


@cache
def team_colors(teams: Teams) -> Colors:
    """Return a (P, 3) uint8 array, the RGB colours of seats in ``teams``, none like the terrain.

    Members get their colours in the order of seats, and teams in turn: the first ones are furthest apart.
    """
    rgb, hue, places = _candidates()
    families = _families(hue, max(teams))
    members = [teams[:seat].count(team) for seat, team in enumerate(teams)]
    turn = sorted(range(len(teams)), key=lambda seat: (members[seat], teams[seat]))
    colors = np.zeros((len(teams), 3), np.uint8)
    colors[turn] = rgb[_furthest(places, _places(_GROUND), [families[teams[seat] - 1] for seat in turn])]
    return colors


def _furthest(places: Ints, taken: Ints, groups: Iterable[Ints]) -> Ints:
    """Return the candidate of each of ``groups`` in turn that is furthest from all before and ``taken``."""
    room, chosen = np.min([_distances(places, place) for place in taken], axis=0), []
    for group in groups:
        chosen.append(group[room[group].argmax()])
        room = np.minimum(room, _distances(places, places[chosen[-1]]))
    return np.array(chosen)


def _families(hue: Ints, num_teams: int) -> list[Ints]:
    """Return the numbers of the candidates in each of ``num_teams`` families; each has some."""
    share, families = 360 / num_teams, []
    for team in range(num_teams):
        away = np.abs((hue - round(_FIRST_HUE + share * team) + 180) % 360 - 180)
        families.append(np.flatnonzero(away <= max(_FAMILY * share / 2, away.min())))
    return families


@cache
def _candidates() -> tuple[Colors, Ints, Ints]:
    """Return colours for members of teams: RGB (n, 3), hues in degrees of CIELAB (n,), and their places."""
    rgb = _grid(12, *_DARKEST_AND_LIGHTEST)
    _, a, b = seen(rgb).T
    kept = np.hypot(a, b) > _LEAST_CHROMA
    hue = np.rint(np.degrees(np.arctan2(b[kept], a[kept]))).astype(np.int64) % 360
    return rgb[kept], hue, _places(rgb[kept])


def _grid(step: int, darkest: int, lightest: int) -> Colors:
    """Return RGB colours on a grid, without very dark and very light ones."""
    grid = _cube(np.arange(8, 256, step, dtype=np.uint8))
    luma = grid @ LUMA
    return grid[(luma > darkest) & (luma < lightest)]


def _cube(levels: Colors) -> Colors:
    """Return (n, 3), all RGB colours that have these levels."""
    return np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)


def _places(rgb: Colors) -> Ints:
    """Return int64 (n, views, 3), where colours are in hundredths of DIN99: Euclid's distance is as seen.

    Those of each view are divided by its weight. Whole numbers, so that the last digits of a machine's floats
    cannot decide between two colours. The space is that of DIN 6176, for CIELAB coordinates.
    """
    turn, views = np.radians(16), []
    for view in VIEWS:
        lightness, a, b = np.moveaxis(seen(rgb, view), -1, 0)
        red, yellow = a * np.cos(turn) + b * np.sin(turn), 0.7 * (b * np.cos(turn) - a * np.sin(turn))
        chroma = np.maximum(np.hypot(red, yellow), 1e-9)
        shrunk = np.log1p(0.045 * chroma) / (0.045 * chroma)
        space = np.stack([105.51 * np.log1p(0.0158 * lightness), red * shrunk, yellow * shrunk], axis=-1)
        views.append(space / _WEIGHTS[view])
    return np.rint(100 * np.stack(views, axis=1)).astype(np.int64)


def _distances(places: Ints, place: Ints) -> Ints:
    """Return (n,), squared distances of ``places`` (n, views, 3) to one, in the view where it is least."""
    return ((places - place) ** 2).sum(axis=-1).min(axis=-1)


NEUTRAL_COLOR = (232, 228, 214)
TERRAIN_COLORS: dict[Terrain, tuple[int, int, int]] = {
    "water": (40, 58, 84),
    "mountains": (84, 78, 74),
}
"""What blocked cells look like."""
_GROUND = np.array([NEUTRAL_COLOR, *TERRAIN_COLORS.values()], np.uint8)

# The result of a search that widens the smallest difference (CIEDE2000) between any two of them and the
# terrain, for people with all cones and for people who lack one kind. In this order each seat is about as far
# as can be from all seats before it, so games of few seats gain most.
# fmt: off
_SEATS = (
    0xFF18E7, 0x249249, 0x86DB31, 0x6D1800, 0xFF869E, 0xC2DBFF, 0x795500, 0x9E616D,
    0x0024FF, 0x8692AA, 0x492431, 0xE7493D, 0xF3B692, 0xB61886, 0xF3FF00, 0xCEFFC2,
    0xCEB6C2, 0x495531, 0x618686, 0xFFDB86, 0x926DAA, 0x9E8679, 0x797900, 0x3DB69E,
    0x00616D, 0xCE9200, 0xAAAA61, 0xB6FFFF, 0x0092F3, 0xE79EFF, 0x550C86, 0x0061B6,
)
# fmt: on


def player_colors(num_players: int, teams: Sequence[int] | None = None) -> Colors:
    """Return a (num_players, 3) uint8 array of the RGB colours of seats 1, 2 ...

    ``teams``: the team 1..N of each seat; allies have colours of one family of hues. Without teams, or with
    teams of one, a seat's colour does not depend on how many there are.
    """
    if not 0 <= num_players <= MAX_PLAYERS:
        raise ValueError(f"num_players is {num_players}; it must be from 0 to {MAX_PLAYERS}")
    allied = checked_teams(teams, num_players)
    if allied is not None:
        return team_colors(allied).copy()
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
    return colors @ LUMA > 110_000


@cache
def _xterm_table() -> Colors:
    """The colours 16 to 255 of terminals that have 256: a cube of 6 levels, and 24 greys."""
    greys = np.arange(8, 248, 10, dtype=np.uint8)[:, None].repeat(3, axis=1)
    return np.vstack([_cube(np.array([0, 95, 135, 175, 215, 255], np.uint8)), greys])


def xterm_colors(colors: Colors) -> Ints:
    """Return (n,) numbers 16 to 255, the terminal colours nearest to (n, 3) RGB colours.

    No two are the same while there are others left, in the order of ``colors``.
    """
    table = _cielab(_xterm_table())
    is_free = np.ones(len(table), np.bool_)
    numbers = []
    for color in _cielab(colors):
        distance = _distances(table, color)
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
    candidates, seats = _grid(16, 60_000, 225_000), _unpack(_SEATS)
    groups = [np.arange(len(candidates))] * (MAX_PLAYERS - len(seats))
    chosen = _furthest(_cielab(candidates), _cielab(np.vstack([seats, _GROUND])), groups)
    return np.vstack([seats, candidates[chosen]])


def _cielab(rgb: Colors) -> Ints:
    """CIELAB coordinates (n, 1, 3) of (n, 3) colours in hundredths, where distance is as seen, in one view.

    Whole numbers, so that the last digits of a machine's floats cannot decide between two colours.
    """
    return np.rint(100 * seen(rgb)[:, None]).astype(np.int64)


# ---- boards -------------------------------------------------------------------------------------------


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
