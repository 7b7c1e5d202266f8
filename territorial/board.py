"""The board as one bit plane per owner: fronts, their sizes, and taking them, a machine word at a time.

``planes`` is uint64[owner 0..P][strip][row]. A strip is 64 columns: column c (from 0) is bit c % 64 of
strip c // 64, row r (from 0) is row r + 1. The first and the last row are always zero, so that no
operation tests for an upper or lower edge. Blocked cells are in no plane.

``spans`` is int64[owner][strip][3]: all cells of an owner in a strip lie in rows first <= r < end and in
the columns whose bits are set in the third number. It may span more than needed, never less, and saves
looking at the empty rest of the board. Empty is first >= end.

Words are unsigned and so are the row indices of the inner loops: for a signed index numba adds a test
for negative values, which keeps the loop from being vectorised (three times slower).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, TOP_BIT, ZERO, highest_bit, int64, lowest_bit, njit, popcount

FIRST, END, COLUMNS = 0, 1, 2
TOP = ONE << TOP_BIT
STRIP_BITS = 64


@njit
def clear_owner(planes: Any, spans: Any, owner: int) -> None:
    """Make ``owner`` own nothing; clears only the rows that it may occupy."""
    for strip in range(planes.shape[1]):
        for r in range(np.uint64(spans[owner, strip, FIRST]), np.uint64(spans[owner, strip, END])):
            planes[owner, strip, r] = ZERO
    forget_span(planes, spans, owner)


@njit
def forget_span(planes: Any, spans: Any, owner: int) -> None:
    """Mark ``owner`` as occupying no row and no column, in every strip."""
    for strip in range(planes.shape[1]):
        spans[owner, strip, COLUMNS] = 0
        spans[owner, strip, FIRST] = planes.shape[2]
        spans[owner, strip, END] = 0


@njit
def tighten_span(planes: Any, spans: Any, owner: int) -> None:
    """Narrow ``spans`` of ``owner`` to the first and last row that hold a cell."""
    for strip in range(planes.shape[1]):
        first, end = spans[owner, strip, FIRST], spans[owner, strip, END]
        while first < end and planes[owner, strip, first] == ZERO:
            first += 1
        while first < end and planes[owner, strip, end - 1] == ZERO:
            end -= 1
        columns = ZERO
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                columns |= planes[owner, strip, r]
        spans[owner, strip, FIRST], spans[owner, strip, END] = first, end
        spans[owner, strip, COLUMNS] = int64(columns)


@njit
def edges(s: int, num_strips: int) -> tuple[int, int, Any, Any]:
    """Return the strips to the left and right of ``s``, and masks for what is carried over from them.

    There is nothing beyond the outer strips: their masks are zero.
    """
    left, right = max(s - 1, 0), min(s + 1, num_strips - 1)
    return left, right, ONE if left < s else ZERO, TOP if right > s else ZERO


@njit
def beside(cells: Any, s: int, r: Any, edge: tuple[int, int, Any, Any]) -> Any:
    """Return the word of strip ``s`` and row ``r`` of all cells that have a neighbour in ``cells``.

    ``cells`` is uint64[strip][row], ``edge`` what ``edges`` returned for the strip.
    """
    left, right, has_left, has_right = edge
    word = (cells[s, r] << ONE) | (cells[s, r] >> ONE) | cells[s, r - ONE] | cells[s, r + ONE]
    word |= (cells[left, r] >> TOP_BIT) & has_left
    return word | ((cells[right, r] << TOP_BIT) & has_right)


@njit
def spread(planes: Any, spans: Any, owner: int, reach: Any, reach_spans: Any) -> None:
    """Fill ``reach`` with all cells that have a neighbour owned by ``owner`` (its own cells among them).

    ``reach`` is uint64[strip][row], valid in the rows of ``reach_spans``, int64[strip][3].
    """
    own = planes[owner]
    for s in range(planes.shape[1]):
        edge = edges(s, len(own))
        left, right = edge[0], edge[1]
        first = min(spans[owner, s, FIRST] - 1, spans[owner, left, FIRST], spans[owner, right, FIRST])
        end = max(spans[owner, s, END] + 1, spans[owner, left, END], spans[owner, right, END])
        first, end = max(first, 1), min(end, planes.shape[2] - 1)
        columns = ZERO
        for r in range(np.uint64(first), np.uint64(max(first, end))):
            word = beside(own, s, r, edge)
            reach[s, r] = word
            columns |= word
        reach_spans[s, FIRST], reach_spans[s, END], reach_spans[s, COLUMNS] = first, end, int64(columns)


@njit
def find_front(
    planes: Any, spans: Any, reach: Any, reach_spans: Any, target: int, front: Any, front_spans: Any
) -> None:
    """Write the cells of ``target`` within ``reach`` into ``front``, which must be zero.

    ``front_spans``, int64[strip][3], are their rows and columns in each strip like ``spans``, exactly.
    """
    for s in range(planes.shape[1]):
        first = max(reach_spans[s, FIRST], spans[target, s, FIRST])
        end = min(reach_spans[s, END], spans[target, s, END])
        none = int64(planes.shape[2])
        highest, lowest, columns = none, int64(0), ZERO
        if (first < end) & ((reach_spans[s, COLUMNS] & spans[target, s, COLUMNS]) != 0):
            for r in range(np.uint64(first), np.uint64(end)):
                word = reach[s, r] & planes[target, s, r]
                front[s, r] = word
                columns |= word
                highest = min(highest, int64(r) if word != ZERO else none)
                lowest = max(lowest, int64(r) + 1 if word != ZERO else int64(0))
        front_spans[s, FIRST], front_spans[s, END], front_spans[s, COLUMNS] = highest, lowest, int64(columns)


@njit
def front_size(planes: Any, spans: Any, reach: Any, reach_spans: Any, target: int) -> int:
    """Return the number of cells of ``target`` within ``reach``."""
    size = 0
    for s in range(planes.shape[1]):
        first = max(reach_spans[s, FIRST], spans[target, s, FIRST])
        end = min(reach_spans[s, END], spans[target, s, END])
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                size += popcount(reach[s, r] & planes[target, s, r])
    return size


@njit
def take_front(planes: Any, spans: Any, taker: int, target: int, front: Any, front_spans: Any) -> None:
    """Move the cells of ``front`` from ``target`` to ``taker``."""
    for s in range(planes.shape[1]):
        first, end = front_spans[s, FIRST], front_spans[s, END]
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                planes[taker, s, r] |= front[s, r]
                planes[target, s, r] ^= front[s, r]
            widen(spans, taker, s, first, end, front_spans[s, COLUMNS])


@njit
def move_all(planes: Any, spans: Any, source: int, destination: int) -> None:
    """Give all cells of ``source`` to ``destination``."""
    for s in range(planes.shape[1]):
        first, end = spans[source, s, FIRST], spans[source, s, END]
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                planes[destination, s, r] |= planes[source, s, r]
                planes[source, s, r] = ZERO
            widen(spans, destination, s, first, end, spans[source, s, COLUMNS])
    forget_span(planes, spans, source)


@njit
def set_cell(planes: Any, spans: Any, owner: int, row: int, column: int) -> None:
    """Add the cell at (row, column), both from 0, to the plane of ``owner``."""
    s, r = column // STRIP_BITS, row + 1
    bit = ONE << np.uint64(column % STRIP_BITS)
    planes[owner, s, r] |= bit
    widen(spans, owner, s, r, r + 1, int64(bit))


@njit
def widen(spans: Any, owner: int, s: int, first: int, end: int, columns: int) -> None:
    """Note that ``owner`` may occupy these rows and columns of strip ``s`` too."""
    spans[owner, s, FIRST] = min(spans[owner, s, FIRST], first)
    spans[owner, s, END] = max(spans[owner, s, END], end)
    spans[owner, s, COLUMNS] |= columns


@njit
def drop_cell(planes: Any, owner: int, row: int, column: int) -> None:
    """Remove the cell at (row, column), both from 0, from the plane of ``owner``."""
    planes[owner, column // STRIP_BITS, row + 1] &= ~(ONE << np.uint64(column % STRIP_BITS))


@njit
def owns_cell(planes: Any, owner: int, row: int, column: int) -> bool:
    """Return whether ``owner`` owns the cell at (row, column), both from 0 and within the map."""
    word = planes[owner, column // STRIP_BITS, row + 1] >> np.uint64(column % STRIP_BITS)
    return (word & ONE) != ZERO


@njit
def write_owner_codes(planes: Any, spans: Any, codes: Any) -> None:
    """Write the owner code of every owned cell into ``codes``, uint8 (H + 2, W + 2) with a wall ring.

    Cells in no plane keep what they hold, so fill ``codes`` with BLOCKED first.
    """
    for owner in range(planes.shape[0]):
        for s in range(planes.shape[1]):
            for r in range(spans[owner, s, FIRST], spans[owner, s, END]):
                word = planes[owner, s, r]
                while word != ZERO:
                    codes[r, s * STRIP_BITS + lowest_bit(word) + 1] = owner
                    word &= word - ONE


@njit
def bounding_box(spans: Any, owner: int) -> tuple[int, int, int, int]:
    """Return (top, bottom, left, right) of the cells of ``owner``, from 0, all inclusive.

    Exact if the spans are (see ``tighten_span``), else perhaps too large. For an owner without cells
    top > bottom and left > right.
    """
    top, bottom = 2**62, -1
    left, right = spans.shape[1] * STRIP_BITS, -1
    for s in range(spans.shape[1]):
        if spans[owner, s, FIRST] < spans[owner, s, END]:
            columns = np.uint64(spans[owner, s, COLUMNS])
            top = min(top, spans[owner, s, FIRST] - 1)
            bottom = max(bottom, spans[owner, s, END] - 2)
            left = min(left, s * STRIP_BITS + lowest_bit(columns))
            right = max(right, s * STRIP_BITS + highest_bit(columns))
    return top, bottom, left, right
