"""Bridges of land that connect the regions of a map.

Every blocked cell belongs to the region that reaches it first when all regions grow at the same
speed. Where the areas of two regions meet, a bridge between them can stand: from the cell of the
coast that one of the meeting cells was reached from to that of the other.
"""

import numpy as np

from territorial.maps.noise import layer_words
from territorial.maps.regions import Land, label_regions
from territorial.typing import Ints

_NOBODY = -1


def join(land: Land, width: int, loops: int, seed: int, layer: int, *, at_random: bool = False) -> Land:
    """Return ``land`` in one region, made so by bridges ``width`` cells wide; see ``plan_bridges``."""
    joined: Land = land.copy()
    for start, end in plan_bridges(land, loops, seed, layer, at_random=at_random):
        draw_line(joined, start, end, width)
    return joined


def plan_bridges(
    land: Land, loops: int, seed: int, layer: int, *, at_random: bool = False
) -> list[tuple[int, int]]:
    """Return the ends, flat indices of land cells, of bridges that join all regions of ``land``.

    They are the shortest that it takes, or ``at_random`` any; then ``loops`` per cent of the others.
    Random choices are those of ``seed`` and ``layer``.
    """
    labels = label_regions(land)
    if labels.max() < 2:
        return []
    pairs, ends, random = _possible_bridges(land, labels, seed, layer)
    lengths = [] if at_random else [_squared_lengths(ends, land.shape[1])]
    order = np.lexsort([*pairs.T[::-1], random, *lengths])
    chosen = _chosen(pairs[order], int(labels.max()), loops)
    return [(int(start), int(end)) for start, end in ends[order[chosen]]]


def _chosen(pairs: Ints, num_regions: int, loops: int) -> list[int]:
    """Return the numbers of the bridges to build: a spanning tree of ``pairs``, then ``loops`` per cent."""
    root = list(range(num_regions + 1))

    def find(region: int) -> int:
        while root[region] != region:
            root[region] = root[root[region]]
            region = root[region]
        return region

    tree, others = list[int](), list[int]()
    for i, (one, other) in enumerate(pairs.tolist()):
        a, b = find(one), find(other)
        (others if a == b else tree).append(i)
        root[a] = b
    return tree + others[: len(others) * loops // 100]


def _possible_bridges(land: Land, labels: Ints, seed: int, layer: int) -> tuple[Ints, Ints, Ints]:
    """Return the shortest bridge between any two regions with touching areas; of equals a random one.

    Of N bridges: int64 (N, 2) labels of the regions, the smaller first; (N, 2) flat indices of the land cells
    that are joined; (N,) numbers for ordering them at random.
    """
    coast = _nearest_coast(land)
    owner = labels.ravel()[coast]
    here, there = _meeting_cells(owner.reshape(land.shape))
    ends = np.stack([coast[here], coast[there]], axis=1)
    pairs = np.stack([owner[here], owner[there]], axis=1)
    turned = pairs[:, 0] > pairs[:, 1]
    ends[turned], pairs[turned] = ends[turned, ::-1], pairs[turned, ::-1]
    random = (layer_words(seed, layer, here.astype(np.uint64)) >> np.uint64(1)).astype(np.int64)
    order = np.lexsort(
        (ends[:, 1], ends[:, 0], random, _squared_lengths(ends, land.shape[1]), *pairs.T[::-1])
    )
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (np.diff(pairs[order], axis=0) != 0).any(axis=1)
    best = order[is_first]
    return pairs[best], ends[best], random[best]


def _squared_lengths(ends: Ints, map_width: int) -> Ints:
    rows, columns = np.divmod(ends, map_width)
    return np.diff(rows)[:, 0] ** 2 + np.diff(columns)[:, 0] ** 2


def _nearest_coast(land: Land) -> Ints:
    """For every cell, flat: the land cell from which it is reached first, itself on land.

    Growth alternates between four and eight neighbours, which is nearly round. All steps are worked
    out on a map with a ring of cells that count as reached.
    """
    height, width = land.shape
    stride = width + 2
    source = np.zeros((height + 2, stride), np.int64)
    source[1:-1, 1:-1] = np.where(land, np.arange(land.size).reshape(land.shape), _NOBODY)
    source = source.ravel()
    straight = (-stride, -1, 1, stride)
    diagonal = (-stride - 1, 1 - stride, stride - 1, stride + 1)
    inside = np.pad(land, 1).ravel()
    front, step = np.flatnonzero(inside), 0
    while front.size:
        offsets = straight if step % 2 == 0 else straight + diagonal
        cells = np.concatenate([front + offset for offset in offsets])
        origin = np.tile(source[front], len(offsets))
        is_new = source[cells] == _NOBODY
        cells, first = np.unique(cells[is_new], return_index=True)
        source[cells] = origin[is_new][first]
        front, step = cells, step + 1
    return source.reshape(height + 2, stride)[1:-1, 1:-1].ravel()


def _meeting_cells(owner: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of neighbouring cells, flat, that belong to different regions."""
    cells = np.arange(owner.size).reshape(owner.shape)
    beside, below = owner[:, 1:] != owner[:, :-1], owner[1:] != owner[:-1]
    here = np.concatenate([cells[:, :-1][beside], cells[:-1][below]])
    there = np.concatenate([cells[:, 1:][beside], cells[1:][below]])
    return here, there


def draw_line(land: Land, start: int, end: int, width: int) -> None:
    """Make land of the squares of ``width`` cells a side along the line between two cells, flat indices.

    The line goes from cell to neighbouring cell, one of the four. Squares that would stand out of the map are
    moved into it.
    """
    (r0, c0), (r1, c1) = divmod(start, land.shape[1]), divmod(end, land.shape[1])
    steps = max(abs(r1 - r0), abs(c1 - c0))
    row = r0
    for i in range(steps + 1):
        column = c0 + _rounded(i * (c1 - c0), steps)
        _stamp(land, row, column, width)
        row = r0 + _rounded(i * (r1 - r0), steps)
        _stamp(land, row, column, width)


def _stamp(land: Land, row: int, column: int, width: int) -> None:
    top = max(0, min(row - width // 2, land.shape[0] - width))
    left = max(0, min(column - width // 2, land.shape[1] - width))
    land[top : top + width, left : left + width] = True


def _rounded(number: int, by: int) -> int:
    """Return ``number`` / ``by`` to the nearest whole number, halves away from 0; 0 by 0 is 0."""
    whole = (2 * abs(number) + by) // (2 * max(1, by))
    return whole if number >= 0 else -whole
