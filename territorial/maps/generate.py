"""Generated maps: one per kind and seed, identical on every machine.

Lakes, mountain ranges with passes and archipelagos are made of noise alone: each cell has a score, and the
lowest are blocked, as many as the kind's share of the map. Islands, continents and mazes are made of pieces
that are joined by land bridges or passes. A piece is the area nearest to one of several centres, with borders
that wind: islands are what lies far from the borders, valleys what is left between walls along them. The
outcome is smoothed with a square brush, so that every land cell lies in a square of land as wide as the
brush. A map that does not come out well is drawn again from other noise; the last resort is open land.
"""

from collections.abc import Callable, Mapping
from itertools import product
from math import isqrt
from typing import NamedTuple

import numpy as np

from territorial.config.land_mask import LandMask
from territorial.config.map_names import KINDS, MapName, check_symmetry, parse_map_name
from territorial.config.validation import check_type, whole_number
from territorial.constants import LARGEST_SEED, MAX_SIDE, MIN_SIDE
from territorial.maps.bridges import join
from territorial.maps.noise import NOISE_UNIT, Heights, draw, fractal_noise, layer_words
from territorial.maps.regions import Land, drop_small, keep_largest, label_regions
from territorial.maps.symmetry import symmetrized
from territorial.typing import Ints

UNIT = 16
"""Coordinates and distances are in 16ths of a cell."""

_CANDIDATES = 16
_FAR = 4 * (UNIT * MAX_SIDE) ** 2
# Spacings within which a cell has its two nearest centres, with room to spare.
_REACH = 4


def spacing_of(height: int, width: int, count: int) -> int:
    """Return the side of a square that is one of ``count`` equal parts of a map, in cells."""
    return max(1, isqrt(height * width // count))


class Pieces(NamedTuple):
    """A map of H x W cells that was cut into N pieces."""

    owner: Ints  # (H, W) piece that a cell is part of; one whose borders wind much may fall apart
    nearest: Heights  # (H, W) squared distance to the centre of that piece
    rows: Heights  # (H, W) where a cell lies for measuring distances, in 16ths; noise makes borders wind
    columns: Heights  # (H, W) the same for columns
    centres: Heights  # (N, 2) rows and columns
    windows: list[tuple[slice, slice]]  # where the cells of a piece and of its neighbours may lie, for each


def cut(height: int, width: int, count: int, seed: int, layer: int, wind: int) -> Pieces:
    """Return a map of ``count`` pieces, the borders of which wind by up to ``wind`` cells.

    Uses 33 layer numbers from ``layer`` on.
    """
    spacing = spacing_of(height, width, count)
    centres = _spread_points(height, width, count, seed, layer)
    rows, columns = _wound_grid(height, width, spacing, seed, layer + 1, wind)
    reach = _REACH * max(spacing, max(height, width) // count)  # pieces of a strip lie one behind another
    windows = [_window(point, reach, height, width) for point in centres.tolist()]
    nearest, owner = np.full((height, width), _FAR, np.int64), np.zeros((height, width), np.int64)
    for i, window in enumerate(windows):
        squared = _squared_distance(rows[window], columns[window], centres[i])
        is_nearer = squared < nearest[window]
        nearest[window][is_nearer] = squared[is_nearer]
        owner[window][is_nearer] = i
    return Pieces(owner, nearest, rows, columns, centres, windows)


def from_border(pieces: Pieces) -> Heights:
    """Return how far each cell is from the border of its piece, int64 (H, W), in 16ths of a cell.

    That is the distance to the nearest of the lines halfway between its centre and the others.
    """
    border = np.full(pieces.owner.shape, _FAR, np.int64)
    for i, window in enumerate(pieces.windows):
        squares = ((pieces.centres - pieces.centres[i]) ** 2).sum(axis=1).tolist()
        apart = np.array([max(1, isqrt(square)) for square in squares], np.int64)
        squared = _squared_distance(pieces.rows[window], pieces.columns[window], pieces.centres[i])
        distance = (squared - pieces.nearest[window]) // (2 * apart[pieces.owner[window]])
        is_nearer = (pieces.owner[window] != i) & (distance < border[window])
        border[window][is_nearer] = distance[is_nearer]
    return border


def from_edge(pieces: Pieces) -> Heights:
    """Return how far each cell is from the edge of a map with edges that wind, int64 (H, W), in 16ths.

    Below 0 is what lies beyond.
    """
    height, width = pieces.owner.shape
    from_rows = np.minimum(pieces.rows, UNIT * (height - 1) - pieces.rows)
    from_columns = np.minimum(pieces.columns, UNIT * (width - 1) - pieces.columns)
    return np.minimum(from_rows, from_columns)


def walls(owner: Ints, thickness: int) -> Land:
    """Return where walls of about ``thickness`` cells stand, along all borders of pieces."""
    wall = np.zeros(owner.shape, np.bool_)
    wall[:, 1:] |= owner[:, 1:] != owner[:, :-1]
    wall[1:] |= owner[1:] != owner[:-1]
    for i in range(thickness - 1):
        grown = wall.copy()
        if i % 2 == 0:  # upwards and to the left, where a border has no wall of its own yet
            grown[:-1] |= wall[1:]
            grown[:, :-1] |= grown[:, 1:]
        else:
            grown[1:] |= wall[:-1]
            grown[:, 1:] |= grown[:, :-1]
        wall = grown
    return wall


def _spread_points(height: int, width: int, count: int, seed: int, layer: int) -> Heights:
    """Return int64 (count, 2) points, each the most distant from earlier ones among random candidates."""
    words = layer_words(seed, layer, np.arange(count * _CANDIDATES, dtype=np.uint64))
    rows = (words >> np.uint64(32)) % np.uint64(UNIT * height)
    columns = (words & np.uint64(2**32 - 1)) % np.uint64(UNIT * width)
    candidates = np.stack([rows, columns], axis=1).astype(np.int64).reshape(count, _CANDIDATES, 2)
    points = candidates[:, 0].copy()
    for i in range(1, count):
        offsets = candidates[i][:, None] - points[None, :i]
        points[i] = candidates[i][(offsets**2).sum(axis=2).min(axis=1).argmax()]
    return points


def _wound_grid(
    height: int, width: int, spacing: int, seed: int, layer: int, wind: int
) -> tuple[Heights, Heights]:
    """Return the rows and columns of all cells in 16ths, each moved by noise of up to ``wind`` cells."""
    wavelength, finest = max(8, spacing), max(4, spacing // 8)
    shifts = [
        (fractal_noise(height, width, seed, layer + part, wavelength, finest) - NOISE_UNIT // 2)
        * (2 * wind * UNIT)
        // NOISE_UNIT
        for part in (0, 16)
    ]
    rows, columns = np.arange(height, dtype=np.int64), np.arange(width, dtype=np.int64)
    return UNIT * rows[:, None] + shifts[0], UNIT * columns[None, :] + shifts[1]


def _window(point: list[int], reach: int, height: int, width: int) -> tuple[slice, slice]:
    row, column = point[0] // UNIT, point[1] // UNIT
    return (
        slice(max(0, row - reach), min(height, row + reach + 1)),
        slice(max(0, column - reach), min(width, column + reach + 1)),
    )


def _squared_distance(rows: Heights, columns: Heights, point: Heights) -> Heights:
    return (rows - point[0]) ** 2 + (columns - point[1]) ** 2


MAX_ATTEMPTS = 16
"""Draws before the map becomes open land."""
_LAYERS_PER_ATTEMPT = 64
# The first layer of noise that no attempt uses.
_LAYERS_OF_ALL_ATTEMPTS = MAX_ATTEMPTS * _LAYERS_PER_ATTEMPT


def generate(kind: str, height: int, width: int, seed: int, *, connected: bool = True) -> LandMask:
    """Return the map that ``seed`` (0 to 2**64 - 1) gives for a kind of map, the same everywhere.

    ``kind`` is a name with options or without, such as "lakes" or "islands:count=6,symmetry=mirror"; see
    ``map_names.KINDS``. The land is one 4-connected region; ``connected=False`` leaves the islands of an
    archipelago that cannot be reached. Raises ValueError for an unknown kind or option, or a size or seed
    out of range, and TypeError for other types.
    """
    check_type("map kind", kind, str, f"one of {', '.join(GENERATORS)}")
    name = parse_map_name(kind, KINDS, "map kind")
    height = whole_number("map height", height, MIN_SIDE, MAX_SIDE)
    width = whole_number("map width", width, MIN_SIDE, MAX_SIDE)
    seed = whole_number("map seed", seed, 0, LARGEST_SEED)
    check_symmetry(name.symmetry, height, width)
    if name.symmetry == "none":
        land = _drawn(name, height, width, seed)
    else:
        land = _symmetric(name, height, width, seed)
    return LandMask.from_array(keep_largest(land) if connected else land)


class _Wanted(NamedTuple):
    """The parameters of all attempts at a map."""

    height: int
    width: int
    seed: int
    options: Mapping[str, int]


def _drawn(name: MapName, height: int, width: int, seed: int) -> Land:
    """Return the first land that the generator of a kind is content with, or else open land."""
    wanted, generator = _Wanted(height, width, seed, name.options), GENERATORS[name.name]
    for attempt in range(MAX_ATTEMPTS):
        land = generator(wanted, attempt * _LAYERS_PER_ATTEMPT, MAX_ATTEMPTS - attempt)
        if land is not None:
            return land
    return np.ones((height, width), np.bool_)


def _symmetric(name: MapName, height: int, width: int, seed: int) -> Land:
    """Return the first map of several that, made symmetric, has about as much land as it had before."""
    for attempt in range(MAX_ATTEMPTS):
        own_seed = int(layer_words(seed, _LAYERS_OF_ALL_ATTEMPTS, np.array([attempt], np.uint64))[0])
        land = _drawn(name, height, width, own_seed)
        bridges = name.options.get("bridges", 3)  # not every kind has this option
        whole = _clear_specks(symmetrized(land, name.symmetry, bridges, own_seed, _LAYERS_OF_ALL_ATTEMPTS))
        num_blocked, wanted = int((~whole).sum()), int((~land).sum())
        if 2 * wanted <= 3 * num_blocked <= 4 * wanted:
            return whole
    return np.ones((height, width), np.bool_)


# ---- the kinds: attempts at one, in the first of 64 layers of noise that it may use ------------------
# ``sixteenths``: how much an attempt may block of what it would. Where pieces keep being cut off, as on a
# strip 16 cells wide, blocking less helps.

MIN_LAND_PERCENT = 60
"""A map of lakes or mountains has at least this share of land."""
MAX_LOST_PERCENT = 4
"""A draw is refused if more than this share of the map is land cut off from the largest region."""
MIN_MAIN_PERCENT = 10
"""The main island of an archipelago has at least this share of the map."""
SMALLEST_ISLAND = 16
"""Cells; smaller ones are left out of an archipelago."""
CELLS_PER_PIECE = 225
"""At least, on average: a small map has fewer pieces than it was asked for."""
_ROOM_BETWEEN_WALLS = 8

_LAYER_SHARE, _LAYER_TERRAIN, _LAYER_PASSES = 0, 16, 32
_LAYER_PIECES, _LAYER_COAST, _LAYER_BRIDGES = 0, 36, 50
_LAKES, _MOUNTAINS = range(12, 21), range(15, 26)
"""Per cent that are blocked, drawn by the seed where nothing else is asked for."""


def _open_land(wanted: _Wanted, layer: int, sixteenths: int) -> Land:
    """Return land everywhere."""
    return np.ones((wanted.height, wanted.width), np.bool_)


def _lakes(wanted: _Wanted, layer: int, sixteenths: int) -> Land | None:
    """Return land with lakes in the hollows of one fractal field."""
    return _largest_region(wanted, _noise(wanted, layer + _LAYER_TERRAIN), _LAKES, layer, sixteenths)


def _mountains(wanted: _Wanted, layer: int, sixteenths: int) -> Land | None:
    """Return land with ranges along the middle contour of one fractal field where a second one is low."""
    terrain, passes = _noise(wanted, layer + _LAYER_TERRAIN), _noise(wanted, layer + _LAYER_PASSES)
    # The first term is 0 along a ridge. With more weight, ranges get thinner, longer and closed;
    # with less, they become blobs.
    score = 4 * np.abs(terrain - NOISE_UNIT // 2) + passes
    return _largest_region(wanted, score, _MOUNTAINS, layer, sixteenths)


def _archipelago(wanted: _Wanted, layer: int, sixteenths: int) -> Land | None:
    """Return islands where one fractal field is high; the middle of the map is raised for the main island."""
    height, width = wanted.height, wanted.width
    rows, columns = np.arange(height, dtype=np.int64), np.arange(width, dtype=np.int64)
    from_edge = np.minimum(
        np.minimum(rows, rows[::-1])[:, None] * NOISE_UNIT // height,
        np.minimum(columns, columns[::-1])[None, :] * NOISE_UNIT // width,
    )
    score = _noise(wanted, layer + _LAYER_TERRAIN) + np.minimum(from_edge, NOISE_UNIT // 3)
    percent = wanted.options["blocked"] * sixteenths // 16
    land = drop_small(_smooth(_block_lowest(score, percent)), SMALLEST_ISLAND)
    sizes = np.bincount(label_regions(land).ravel())[1:]
    # A small map may have room for one island only.
    has_several = sizes.size > 1 or land.size < 64 * 64
    return land if has_several and 100 * sizes.max() >= MIN_MAIN_PERCENT * land.size else None


def _islands(wanted: _Wanted, layer: int, sixteenths: int) -> Land | None:
    """Return islands, or continents, with straits between them and bridges over these."""
    pieces, spacing = _pieces(wanted, layer, CELLS_PER_PIECE)
    score = _islands_score(pieces, spacing, wanted.seed, layer + _LAYER_COAST)
    percent = wanted.options["blocked"] * sixteenths // 16
    land = drop_small(_smooth(_block_lowest(score, percent)), max(24, spacing * spacing // 30))
    is_good = label_regions(land).max() > 1 and 4 * 100 * land.sum() >= 3 * (100 - percent) * land.size
    return _joined(wanted, land, layer, at_random=False) if is_good else None


def _maze(wanted: _Wanted, layer: int, sixteenths: int) -> Land | None:
    """Return valleys with a way from each to each, most of them with one way only."""
    thickness = wanted.options["walls"]
    least = max(CELLS_PER_PIECE // 2, (2 * thickness + _ROOM_BETWEEN_WALLS) ** 2)
    pieces, spacing = _pieces(wanted, layer, least)
    valleys = drop_small(_smooth(~walls(pieces.owner, thickness)), (spacing - thickness) ** 2 // 8)
    return _joined(wanted, valleys, layer, at_random=True) if label_regions(valleys).max() > 1 else None


GENERATORS: Mapping[str, Callable[[_Wanted, int, int], Land | None]] = {
    "open": _open_land,
    "lakes": _lakes,
    "mountains": _mountains,
    "islands": _islands,
    "continents": _islands,
    "maze": _maze,
    "archipelago": _archipelago,
}
"""One generator for each of ``map_names.KINDS``."""


# ---- their parts -------------------------------------------------------------------------------------


def _noise(wanted: _Wanted, layer: int) -> Heights:
    """Return a fractal field with ``per_side`` of its largest features along a side of a square map.

    So features scale with the map, but they stay small enough for one that is long and narrow. Coasts may be
    rough, but not on the scale of cells.
    """
    height, width, seed, options = wanted
    spacing = max(8, min(isqrt(height * width) // options["per_side"], min(height, width) // 4))
    return fractal_noise(height, width, seed, layer, spacing, max(4, spacing // 10))


def _largest_region(
    wanted: _Wanted, score: Heights, percents: range, layer: int, sixteenths: int
) -> Land | None:
    """Return the largest region after blocking the lowest cells, if it is good enough."""
    seed, blocked = wanted.seed, wanted.options["blocked"]
    percent = blocked or percents[draw(seed, layer + _LAYER_SHARE, 0, len(percents))]
    percent = percent * sixteenths // 16
    whole = _smooth(_block_lowest(score, percent))
    land = keep_largest(whole)
    return land if _is_good(land, int(whole.sum() - land.sum()), percent) else None


def _is_good(land: Land, num_lost: int, percent: int) -> bool:
    """Judge a draw by its land, the cells cut off from it, and the share it was to block."""
    num_land = int(land.sum())
    has_room = 100 * num_land >= MIN_LAND_PERCENT * land.size
    is_whole = 100 * num_lost <= MAX_LOST_PERCENT * land.size
    # Smoothing can wipe out what a small map has of lakes or ranges.
    has_features = 200 * (land.size - num_land) >= percent * land.size
    return has_room and is_whole and has_features


def _pieces(wanted: _Wanted, layer: int, least: int) -> tuple[Pieces, int]:
    """Return the map cut into pieces of ``least`` cells or more, and how far apart they are."""
    height, width, seed, options = wanted
    count = max(2, min(options["count"], height * width // least))
    spacing = spacing_of(height, width, count)
    wind = min(spacing // 2, min(height, width) // 4)  # of borders, in cells: on a narrow map less
    return cut(height, width, count, seed, layer + _LAYER_PIECES, wind), spacing


def _joined(wanted: _Wanted, land: Land, layer: int, *, at_random: bool) -> Land:
    """Return ``land`` with the bridges that the options ask for."""
    bridges, loops = wanted.options["bridges"], wanted.options["loops"]
    return join(land, bridges, loops, wanted.seed, layer + _LAYER_BRIDGES, at_random=at_random)


def _islands_score(pieces: Pieces, spacing: int, seed: int, layer: int) -> Heights:
    """Return a score that is lowest in the straits, low towards borders and edges, uneven everywhere."""
    height, width = pieces.owner.shape
    from_coast = np.minimum(from_border(pieces), 2 * from_edge(pieces))
    # The middle of an island is a plateau, or noise would have no say in where its coast is.
    plateau = np.minimum(from_coast, spacing * UNIT // 3) * NOISE_UNIT // (UNIT * spacing)
    noise = fractal_noise(height, width, seed, layer, max(8, spacing * 2 // 3), max(4, spacing // 20))
    score: Heights = 4 * plateau + 3 * noise
    score[walls(pieces.owner, max(3, spacing // 12))] -= 8 * NOISE_UNIT  # below all that is no strait
    return score


def _block_lowest(score: Heights, percent: int) -> Land:
    """Block the ``percent`` of cells with the lowest score; ties with the last one stay land."""
    rank = score.size * percent // 100
    return score >= np.partition(score.ravel(), rank)[rank]


def _smooth(land: Land) -> Land:
    """Clear blocked specks, then close corridors of land that are narrower than the brush."""
    brush = _brush(land)
    return _opening(_clear_specks(~_opening(~land, brush, outside=True)), brush, outside=False)


def _clear_specks(land: Land) -> Land:
    """Make land of blocked regions of less than two squares of the brush."""
    return ~drop_small(~land, 2 * _brush(land) ** 2)


def _brush(land: Land) -> int:
    """Return the side of the square that maps of this size are smoothed with."""
    # On smaller maps a brush of 3 would wipe out most ranges.
    return 2 if min(land.shape) < 64 else 3


def _opening(cells: Land, brush: int, outside: bool) -> Land:
    """Return the union of all ``brush`` x ``brush`` squares that lie in ``cells``.

    ``outside`` says whether the cells beyond the map count as being in it.
    """
    padded = np.pad(cells, brush - 1, constant_values=outside)
    for combine, axis in product((np.logical_and, np.logical_or), (0, 1)):
        size = padded.shape[axis] - brush + 1  # of what every ``brush`` neighbours combine to
        padded = combine.reduce([padded.take(range(i, i + size), axis) for i in range(brush)])
    return padded
