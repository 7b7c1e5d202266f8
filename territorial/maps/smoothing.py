"""Blocking by rank and smoothing: what makes land of a field of heights."""

from __future__ import annotations

import numpy as np

from territorial.maps.noise import Heights
from territorial.maps.regions import Land, drop_small


def block_lowest(score: Heights, percent: int) -> Land:
    """Block the ``percent`` of cells with the lowest score; ties with the last one stay land."""
    rank = score.size * percent // 100
    land: Land = score >= np.partition(score.ravel(), rank)[rank]
    return land


def smooth(land: Land) -> Land:
    """Clear blocked specks, then close corridors of land that are narrower than the brush."""
    brush = _brush(land)
    return _opening(clear_specks(~_opening(~land, brush, outside=True)), brush, outside=False)


def clear_specks(land: Land) -> Land:
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
    margin = brush - 1
    padded = np.pad(cells, margin, constant_values=outside)
    for axis in (0, 1):
        padded = _slide(np.logical_and, padded, brush, axis)
    for axis in (0, 1):
        padded = _slide(np.logical_or, padded, brush, axis)
    return padded


def _slide(combine: np.ufunc, cells: Land, brush: int, axis: int) -> Land:
    """Combine every ``brush`` neighbours along an axis, which gets ``brush`` - 1 shorter."""
    size = cells.shape[axis] - brush + 1
    parts = [cells.take(range(i, i + size), axis) for i in range(brush)]
    result: Land = combine.reduce(parts)
    return result
