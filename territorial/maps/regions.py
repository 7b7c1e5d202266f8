"""4-connected regions of land, by union-find over runs of cells.

A map of 1024 x 1024 has a few thousand runs where it has a million cells. Every step below is
one numpy operation over all of them, so no compiled code is needed.
"""

import numpy as np

from territorial.config.land_mask import LandMask, check_is_mask
from territorial.typing import Bools, Ints

Land = Bools


def label_regions(land: Land) -> Ints:
    """Return (height, width) int64 labels: 0 on blocked cells, regions 1, 2 ... in reading order.

    The order of the regions is that of their first cells, row by row.
    """
    height, width = land.shape
    # One blocked column on the right keeps runs from reaching into the next row.
    padded = np.zeros((height, width + 1), np.int8)
    padded[:, :width] = land
    edges = np.diff(padded.ravel(), prepend=np.int8(0))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    first_run = _join(starts.size, *_touching_runs(starts, ends, width + 1))
    # A region is named by its first run, so sorting the names is sorting by reading order.
    _, region = np.unique(first_run, return_inverse=True)
    labels = np.zeros(padded.size, np.int64)
    labels[padded.ravel() == 1] = np.repeat(region.ravel() + 1, ends - starts)
    return labels.reshape(height, width + 1)[:, :width]


def _touching_runs(starts: Ints, ends: Ints, stride: int) -> tuple[Ints, Ints]:
    """All pairs (run, run in the next row that shares a column with it)."""
    low = np.searchsorted(ends, starts + stride, side="right")
    high = np.searchsorted(starts, ends + stride, side="left")
    count = np.maximum(high - low, 0)
    upper = np.repeat(np.arange(starts.size), count)
    rank_in_group = np.arange(upper.size) - np.repeat(np.cumsum(count) - count, count)
    return upper, low[upper] + rank_in_group


def _join(size: int, a: Ints, b: Ints) -> Ints:
    """Return for each of ``size`` nodes the smallest node that the edges (a, b) connect it with.

    Every round hangs the larger root of each edge below its smallest neighbour and flattens the
    trees. A root that is left alone by a round has a neighbour that went to a smaller root, and is
    hung up in the next one. Two rounds at least halve the number of open roots.
    """
    root = np.arange(size, dtype=np.int64)
    while a.size:
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(root, flatter := root[root]):
            root = flatter
        a, b = root[a], root[b]
        is_open = a != b
        a, b = a[is_open], b[is_open]
    return root


def keep_largest(land: Land) -> Land:
    """Return ``land`` with only its largest region kept, the first in reading order of equals."""
    labels = label_regions(land)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0  # blocked cells are no region
    return (labels == np.argmax(sizes)) & land


def drop_small(cells: Land, min_cells: int) -> Land:
    """Return ``cells`` without its 4-connected regions of less than ``min_cells`` cells."""
    labels = label_regions(cells)
    is_kept = np.bincount(labels.ravel()) >= min_cells
    is_kept[0] = False  # label 0 is everything that is not in ``cells``
    return is_kept[labels]


def largest_region(mask: LandMask) -> LandMask:
    """Return ``mask`` with all land blocked that is not part of its largest 4-connected region.

    Of regions of the same size the first in reading order is kept. Raises ValueError for a map
    without any land.
    """
    check_is_mask("mask", mask)
    if mask.num_land == 0:
        raise ValueError("the map has no land; a game needs one 4-connected region of it")
    return LandMask.from_array(keep_largest(mask.to_array()))


def check_connected(mask: LandMask) -> None:
    """Raise ValueError unless the land of ``mask`` is one 4-connected region."""
    check_is_mask("mask", mask)
    labels = label_regions(mask.to_array())
    num_regions = int(labels.max())
    if num_regions == 0:
        raise ValueError("the map has no land; a game needs one 4-connected region of it")
    if num_regions > 1:
        row, column = divmod(int(np.argmax(labels == 2)), mask.width)
        raise ValueError(
            f"the land of the map has {num_regions} regions, the second beginning at row "
            f"{row}, column {column}; a game needs one 4-connected region. "
            "territorial.maps.largest_region(mask) keeps the largest"
        )
