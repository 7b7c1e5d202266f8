"""The board as one bit plane per owner: fronts, their sizes, and taking them, a machine word at a time.

``planes`` is uint64[owner 0..P][strip][row]. A strip is 64 columns: column c (from 0) is bit c % 64 of
strip c // 64, row r (from 0) is row r + 1. The first and the last row are always zero, so that no
operation tests for an upper or lower edge. Blocked cells are in no plane.

``rows`` is int64[owner][strip][2]: all cells of an owner in a strip lie in rows first <= r < end. It may
span more than needed, never less, and saves looking at the empty rest of the board. Empty is
first >= end.

Words are unsigned and so are the row indices of the inner loops: for a signed index numba adds a test
for negative values, which keeps the loop from being vectorised (three times slower).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, TOP_BIT, ZERO, highest_bit, lowest_bit, njit, popcount

FIRST, END = 0, 1
TOP = ONE << TOP_BIT
STRIP_BITS = 64


@njit
def clear_rows(planes: Any, rows: Any, owner: int) -> None:
    """Make ``owner`` own nothing; clears only the rows that it may occupy."""
    for strip in range(planes.shape[1]):
        for r in range(np.uint64(rows[owner, strip, FIRST]), np.uint64(rows[owner, strip, END])):
            planes[owner, strip, r] = ZERO
    forget_rows(planes, rows, owner)


@njit
def forget_rows(planes: Any, rows: Any, owner: int) -> None:
    """Mark ``owner`` as occupying no row, in every strip."""
    for strip in range(planes.shape[1]):
        rows[owner, strip, FIRST] = planes.shape[2]
        rows[owner, strip, END] = 0


@njit
def tighten_rows(planes: Any, rows: Any, owner: int) -> None:
    """Narrow ``rows`` of ``owner`` to the first and last row that hold a cell."""
    for strip in range(planes.shape[1]):
        first, end = rows[owner, strip, FIRST], rows[owner, strip, END]
        while first < end and planes[owner, strip, first] == ZERO:
            first += 1
        while first < end and planes[owner, strip, end - 1] == ZERO:
            end -= 1
        rows[owner, strip, FIRST], rows[owner, strip, END] = first, end


@njit
def spread(planes: Any, rows: Any, owner: int, reach: Any, reach_rows: Any) -> None:
    """Fill ``reach`` with all cells that have a neighbour owned by ``owner`` (its own cells among them).

    ``reach`` is uint64[strip][row], valid in the rows of ``reach_rows``, int64[strip][2].
    """
    for s in range(planes.shape[1]):
        left, right = max(s - 1, 0), min(s + 1, planes.shape[1] - 1)
        # Beyond the outer strips there is nothing that a bit could be carried over from.
        has_left = ONE if left < s else ZERO
        has_right = TOP if right > s else ZERO
        first = min(rows[owner, s, FIRST] - 1, rows[owner, left, FIRST], rows[owner, right, FIRST])
        end = max(rows[owner, s, END] + 1, rows[owner, left, END], rows[owner, right, END])
        first, end = max(first, 1), min(end, planes.shape[2] - 1)
        reach_rows[s, FIRST], reach_rows[s, END] = first, end
        for r in range(np.uint64(first), np.uint64(max(first, end))):
            own = planes[owner, s, r]
            beside = (own << ONE) | (own >> ONE)
            carried = (planes[owner, left, r] >> TOP_BIT) & has_left
            carried |= (planes[owner, right, r] << TOP_BIT) & has_right
            above_below = planes[owner, s, r - ONE] | planes[owner, s, r + ONE]
            reach[s, r] = beside | carried | above_below


@njit
def find_front(
    planes: Any, rows: Any, reach: Any, reach_rows: Any, target: int, front: Any, front_rows: Any
) -> int:
    """Fill ``front`` with the cells of ``target`` within ``reach`` and return how many there are."""
    size = 0
    for s in range(planes.shape[1]):
        first = max(reach_rows[s, FIRST], rows[target, s, FIRST])
        end = min(reach_rows[s, END], rows[target, s, END])
        front_rows[s, FIRST], front_rows[s, END] = first, end
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                word = reach[s, r] & planes[target, s, r]
                front[s, r] = word
                size += popcount(word)
    return size


@njit
def front_size(planes: Any, rows: Any, reach: Any, reach_rows: Any, target: int) -> int:
    """Return the number of cells of ``target`` within ``reach``."""
    size = 0
    for s in range(planes.shape[1]):
        first = max(reach_rows[s, FIRST], rows[target, s, FIRST])
        end = min(reach_rows[s, END], rows[target, s, END])
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                size += popcount(reach[s, r] & planes[target, s, r])
    return size


@njit
def take_front(planes: Any, rows: Any, taker: int, target: int, front: Any, front_rows: Any) -> None:
    """Move the cells of ``front`` from ``target`` to ``taker``."""
    for s in range(planes.shape[1]):
        first, end = front_rows[s, FIRST], front_rows[s, END]
        while first < end and front[s, first] == ZERO:
            first += 1
        while first < end and front[s, end - 1] == ZERO:
            end -= 1
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                planes[taker, s, r] |= front[s, r]
                planes[target, s, r] &= ~front[s, r]
            rows[taker, s, FIRST] = min(rows[taker, s, FIRST], first)
            rows[taker, s, END] = max(rows[taker, s, END], end)


@njit
def move_all(planes: Any, rows: Any, source: int, destination: int) -> None:
    """Give all cells of ``source`` to ``destination``."""
    for s in range(planes.shape[1]):
        first, end = rows[source, s, FIRST], rows[source, s, END]
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                planes[destination, s, r] |= planes[source, s, r]
                planes[source, s, r] = ZERO
            rows[destination, s, FIRST] = min(rows[destination, s, FIRST], first)
            rows[destination, s, END] = max(rows[destination, s, END], end)
    forget_rows(planes, rows, source)


@njit
def set_cell(planes: Any, rows: Any, owner: int, row: int, column: int) -> None:
    """Add the cell at (row, column), both from 0, to the plane of ``owner``."""
    s, r = column // STRIP_BITS, row + 1
    planes[owner, s, r] |= ONE << np.uint64(column % STRIP_BITS)
    rows[owner, s, FIRST] = min(rows[owner, s, FIRST], r)
    rows[owner, s, END] = max(rows[owner, s, END], r + 1)


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
def write_owner_codes(planes: Any, rows: Any, codes: Any) -> None:
    """Write the owner code of every owned cell into ``codes``, uint8 (H + 2, W + 2) with a wall ring.

    Cells in no plane keep what they hold, so fill ``codes`` with BLOCKED first.
    """
    for owner in range(planes.shape[0]):
        for s in range(planes.shape[1]):
            for r in range(rows[owner, s, FIRST], rows[owner, s, END]):
                word = planes[owner, s, r]
                while word != ZERO:
                    codes[r, s * STRIP_BITS + lowest_bit(word) + 1] = owner
                    word &= word - ONE


@njit
def bounding_box(planes: Any, rows: Any, owner: int) -> tuple[int, int, int, int]:
    """Return (top, bottom, left, right) of the cells of ``owner``, from 0, all inclusive.

    For an owner without cells top > bottom and left > right.
    """
    top, bottom = planes.shape[2], -1
    left, right = planes.shape[1] * STRIP_BITS, -1
    for s in range(planes.shape[1]):
        columns = ZERO
        for r in range(rows[owner, s, FIRST], rows[owner, s, END]):
            word = planes[owner, s, r]
            if word != ZERO:
                columns |= word
                top, bottom = min(top, r - 1), max(bottom, r - 1)
        if columns != ZERO:
            start = s * STRIP_BITS
            left = min(left, start + lowest_bit(columns))
            right = max(right, start + highest_bit(columns))
    return top, bottom, left, right
