"""A map cut into pieces: the areas nearest to one of several centres, with borders that wind.

Islands are what lies far from the borders, valleys what is left between walls along them.
"""

from math import isqrt
from typing import NamedTuple

import numpy as np

from territorial.constants import MAX_SIDE
from territorial.maps.noise import NOISE_UNIT, Heights, fractal_noise, layer_words
from territorial.maps.regions import Land
from territorial.typing import Ints

UNIT = 16
"""Coordinates and distances are in 16ths of a cell."""

_CANDIDATES = 16
_FAR = 4 * (UNIT * MAX_SIDE) ** 2
_REACH = 4
"""Spacings within which a cell has its two nearest centres, with room to spare."""


def spacing_of(height: int, width: int, count: int) -> int:
    """Return the side of a square that is one of ``count`` equal parts of a map, in cells."""
    return max(1, isqrt(height * width // count))


class Pieces(NamedTuple):
    """A map of H x W cells that was cut into N pieces."""

    owner: Ints
    """(H, W) number of the piece that a cell is part of; a piece whose borders wind much may fall apart."""
    nearest: Heights
    """(H, W) squared distance to the centre of that piece."""
    rows: Heights
    """(H, W) where a cell lies for measuring distances, in 16ths of a cell; noise makes borders wind."""
    columns: Heights
    """(H, W) the same for columns."""
    centres: Heights
    """(N, 2) rows and columns."""
    windows: list[tuple[slice, slice]]
    """Where the cells of a piece and of its neighbours may lie, for each piece."""


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
    edge: Heights = np.minimum(from_rows, from_columns)
    return edge


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
    """Return int64 (count, 2) points, each the most distant from those before of several at random."""
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
    rows = UNIT * np.arange(height, dtype=np.int64)[:, None] + shifts[0]
    columns = UNIT * np.arange(width, dtype=np.int64)[None, :] + shifts[1]
    return rows, columns


def _window(point: list[int], reach: int, height: int, width: int) -> tuple[slice, slice]:
    row, column = point[0] // UNIT, point[1] // UNIT
    return (
        slice(max(0, row - reach), min(height, row + reach + 1)),
        slice(max(0, column - reach), min(width, column + reach + 1)),
    )


def _squared_distance(rows: Heights, columns: Heights, point: Heights) -> Heights:
    squares: Heights = (rows - point[0]) ** 2 + (columns - point[1]) ** 2
    return squares
