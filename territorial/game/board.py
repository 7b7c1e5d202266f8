"""The board as one bit plane per owner: fronts, their sizes, and taking them, eight machine words at a time.

``planes`` is uint64[owner 0..P][strip][row]. A strip is 64 columns: column c (from 0) is bit c % 64 of
strip c // 64, row r (from 0) is row r + 1. The first row and all after the map's last are always zero, so
that no operation tests for an upper or lower edge. Blocked cells are in no plane.

A *block* is eight rows of a strip; block b begins at row 8 * b + 1. Sets of blocks are words as well,
uint64[strip][group]: bit b % 64 of group b // 64. ``occupied``, uint64[owner][strip][group], has every
block in which an owner has a cell. It may have more than that, never less. A border lies in few blocks,
so what is done along it goes from block to block, and the size of the map does not matter.

A set of cells (a front, say) is uint64[strip][row] like a plane, with the set of its blocks. The *place* of
a block is where its first row is in such an array, counted through all strips; its *number* is where its bit
is in a set of blocks, 64 to a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.jit.alignment import aligned_zeros
from territorial.jit.decorators import ONE, TOP_BIT, ZERO, highest_bit, lowest_bit, njit
from territorial.jit.simd import (
    EIGHT,
    at,
    columns_in,
    eight,
    no_cells,
    put,
    put_at,
    rows_above,
    rows_below,
    rows_in,
    total,
    with_counts,
)

TOP = ONE << TOP_BIT
LAST_ROW = np.uint64(1 << (EIGHT - 1))
STRIP_BITS = 64


def num_strips(width: int) -> int:
    """Return how many strips of 64 columns a map of ``width`` columns has."""
    return -(-width // STRIP_BITS)


def num_blocks(height: int) -> int:
    """Return how many blocks of eight rows a strip of ``height`` rows has."""
    return -(-height // EIGHT)


def num_groups(height: int) -> int:
    """Return how many words a set of the blocks of one strip takes."""
    return -(-num_blocks(height) // STRIP_BITS)


def num_rows(height: int) -> int:
    """Return how many words a strip of a plane has: a row of zeros, whole blocks, and seven rows of zeros.

    One would do, but so all blocks begin a line of the cache if the first one does: ``zeroed_words``.
    """
    return EIGHT * (num_blocks(height) + 1)


def zeroed_words(shape: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """Return planes or sets of cells, uint64 (..., strips, rows) of zeros."""
    return aligned_zeros(shape, np.uint64, starts_at=1)


def all_blocks(height: int) -> npt.NDArray[np.uint64]:
    """Return the set of all blocks of one strip of ``height`` rows, uint64 (groups,)."""
    is_block = np.arange(STRIP_BITS * num_groups(height)) < num_blocks(height)
    return np.packbits(is_block, bitorder="little").view("<u8")


# ---- blocks --------------------------------------------------------------------------------------


@njit
def block_of(group: int, blocks: Any) -> int:
    """Return the number of the first block in ``blocks``, a word of a set that is not zero."""
    return STRIP_BITS * group + lowest_bit(blocks)


@njit
def first_row(block: int) -> int:
    """Return the row of a plane with which ``block`` begins."""
    return EIGHT * block + 1


@njit
def place_of(cells: Any, s: int, group: int, blocks: Any) -> int:
    """Return the place of the first block in ``blocks``, the word (s, group) of a set that is not zero."""
    return s * cells.shape[1] + STRIP_BITS * EIGHT * group + EIGHT * lowest_bit(blocks) + 1


@njit
def number_of(sets: Any, s: int, group: int, blocks: Any) -> int:
    """Return the number of the first block in ``blocks``, the word (s, group) of a set that is not zero."""
    return STRIP_BITS * (s * sets.shape[1] + group) + lowest_bit(blocks)


@njit
def add_block(blocks: Any, s: int, block: int) -> None:
    """Put ``block`` into a set of blocks."""
    blocks[s, block >> 6] |= ONE << np.uint64(block & 63)


@njit
def empty(blocks: Any) -> None:
    """Take all blocks out of a set."""
    for s in range(blocks.shape[0]):
        for group in range(blocks.shape[1]):
            blocks[s, group] = ZERO


@njit
def blocks_beside(blocks: Any, s: int, group: int) -> Any:
    """Return the word (s, group) of all blocks in a set, and above, below, left and right of one in it."""
    own = blocks[s, group]
    word = own | (own << ONE) | (own >> ONE)
    if s > 0:
        word |= blocks[s - 1, group]
    if s + 1 < blocks.shape[0]:
        word |= blocks[s + 1, group]
    if group > 0:
        word |= blocks[s, group - 1] >> TOP_BIT
    if group + 1 < blocks.shape[1]:
        word |= blocks[s, group + 1] << TOP_BIT
    return word


# ---- cells ---------------------------------------------------------------------------------------


@njit
def beside(cells: Any, place: int) -> Any:
    """Return, for the eight rows at ``place``, all cells that have a neighbour in ``cells``.

    ``cells`` is uint64[strip][row]. Nothing is carried over from beyond the outer strips: what is loaded
    there, the strip's own words, is masked out. The rows above and below are those of the block moved by one:
    eight words that lie across lines of the cache take twice as long to load, and far longer if they
    have just been written.
    """
    strip = cells.shape[1]
    has_left, has_right = place >= strip, place < cells.size - strip
    own = eight(cells, place)
    left = eight(cells, place - strip if has_left else place)
    right = eight(cells, place + strip if has_right else place)
    near = (own << ONE) | (own >> ONE)
    near |= rows_above(own, at(cells, place - 1)) | rows_below(own, at(cells, place + EIGHT))
    near |= (left >> TOP_BIT) & (ONE if has_left else ZERO)
    return near | ((right << TOP_BIT) & (TOP if has_right else ZERO))


@njit
def find_front(
    own: Any,
    own_blocks: Any,
    cells: Any,
    cell_blocks: Any,
    front: Any,
    front_blocks: Any,
    places: Any,
    numbers: Any,
) -> int:
    """Write those of ``cells`` that have a neighbour in ``own`` into ``front``, which must be zero.

    ``own`` and ``cells`` are uint64[strip][row], with the sets of the blocks in which they may have cells.
    Writes the set of the front's blocks, and lists their places and numbers; returns how many they are.
    """
    count = 0
    for s in range(len(own)):
        for group in range(own_blocks.shape[1]):
            blocks = found = blocks_beside(own_blocks, s, group) & cell_blocks[s, group]
            while blocks != ZERO:
                place = place_of(cells, s, group, blocks)
                within = beside(own, place) & eight(cells, place)
                put(front, place, within)
                is_empty = rows_in(within) == ZERO
                put_at(places, count, place)
                put_at(numbers, count, number_of(cell_blocks, s, group, blocks))
                count += not is_empty
                found ^= blocks & (~blocks + ONE) if is_empty else ZERO
                blocks &= blocks - ONE
            front_blocks[s, group] = found
    return count


@njit
def front_size(planes: Any, occupied: Any, owner: int, target: int) -> int:
    """Return the number of cells of ``target`` that have a neighbour owned by ``owner``."""
    own, cells, sizes = planes[owner], planes[target], no_cells()
    for s in range(len(own)):
        for group in range(occupied.shape[2]):
            blocks = blocks_beside(occupied[owner], s, group) & occupied[target, s, group]
            while blocks != ZERO:
                place = place_of(cells, s, group, blocks)
                sizes = with_counts(sizes, beside(own, place) & eight(cells, place))
                blocks &= blocks - ONE
    return total(sizes)


@njit
def lose_front(
    cells: Any,
    cell_blocks: Any,
    front: Any,
    front_blocks: Any,
    zone: Any,
    all_blocks: Any,
    places: Any,
    numbers: Any,
    count: int,
) -> int:
    """Take ``front`` out of ``cells``, which has all of it, and find its *zone*.

    These are the blocks in which there are cells of the front or beside it. Those that are not among the
    first ``count`` blocks of the list, in which it lies, are appended to it; returns how many the zone has.
    ``zone`` must be empty, and is again afterwards.
    """
    for s in range(len(cells)):
        for group in range(front_blocks.shape[1]):
            blocks = front_blocks[s, group]
            if blocks == ZERO:
                continue
            emptied = above = below = left = right = ZERO
            while blocks != ZERO:
                place, block = place_of(cells, s, group, blocks), blocks & (~blocks + ONE)
                taken = eight(front, place)
                rest = eight(cells, place) ^ taken
                put(cells, place, rest)
                rows = rows_in(taken)
                emptied |= block if rows_in(rest) == ZERO else ZERO
                above |= block if rows & ONE != ZERO else ZERO
                below |= block if rows & LAST_ROW != ZERO else ZERO
                left |= block if rows_in(taken & ONE) != ZERO else ZERO
                right |= block if rows_in(taken & TOP) != ZERO else ZERO
                blocks &= blocks - ONE
            cell_blocks[s, group] &= ~emptied
            add_zone(zone, all_blocks, s, group, above >> ONE | below << ONE)
            add_zone(zone, all_blocks, s, group - 1, above << TOP_BIT)
            add_zone(zone, all_blocks, s, group + 1, below >> TOP_BIT)
            add_zone(zone, all_blocks, s - 1, group, left)
            add_zone(zone, all_blocks, s + 1, group, right)
    for s in range(len(cells)):
        for group in range(front_blocks.shape[1]):
            blocks = zone[s, group] & ~front_blocks[s, group]
            zone[s, group] = ZERO
            count = list_word(cells, zone, s, group, blocks, places, numbers, count)
    return count


@njit
def add_zone(zone: Any, all_blocks: Any, s: int, group: int, blocks: Any) -> None:
    """Put into the zone those of ``blocks`` that there are."""
    if (0 <= s < zone.shape[0]) & (0 <= group < zone.shape[1]):
        zone[s, group] |= blocks & all_blocks[group]


@njit
def gain_front(
    planes: Any, occupied: Any, taker: int, front: Any, front_blocks: Any, places: Any, count: int
) -> None:
    """Give the cells of ``front``, whose ``count`` blocks are listed, to ``taker``; it is zero afterwards."""
    gains, blocks = planes[taker], occupied[taker]
    for i in range(count):
        place = places[i]
        put(gains, place, eight(gains, place) | eight(front, place))
        put(front, place, no_cells())
    for word in range(blocks.size):
        put_at(blocks, word, at(blocks, word) | at(front_blocks, word))


@njit
def list_blocks(cells: Any, sets: Any, places: Any, numbers: Any) -> int:
    """List the blocks of a set, in which ``cells`` lie, by place and number; return how many they are."""
    count = 0
    for s in range(sets.shape[0]):
        for group in range(sets.shape[1]):
            count = list_word(cells, sets, s, group, sets[s, group], places, numbers, count)
    return count


@njit
def list_word(
    cells: Any, sets: Any, s: int, group: int, blocks: Any, places: Any, numbers: Any, count: int
) -> int:
    """Append ``blocks``, a word (s, group) of a set, to a list of ``count``; return how many it has then."""
    while blocks != ZERO:
        put_at(places, count, place_of(cells, s, group, blocks))
        put_at(numbers, count, number_of(sets, s, group, blocks))
        count += 1
        blocks &= blocks - ONE
    return count


@njit
def move_all(planes: Any, occupied: Any, source: int, destination: int) -> None:
    """Give all cells of ``source`` to ``destination``."""
    from_plane, to_plane = planes[source], planes[destination]
    for s in range(len(from_plane)):
        for group in range(occupied.shape[2]):
            blocks = occupied[source, s, group]
            occupied[destination, s, group] |= blocks
            occupied[source, s, group] = ZERO
            while blocks != ZERO:
                place = place_of(to_plane, s, group, blocks)
                put(to_plane, place, eight(to_plane, place) | eight(from_plane, place))
                put(from_plane, place, no_cells())
                blocks &= blocks - ONE


@njit
def copy_cells(source: Any, blocks: Any, destination: Any) -> None:
    """Copy a set of cells that lies in ``blocks``."""
    for s in range(blocks.shape[0]):
        for group in range(blocks.shape[1]):
            rest = blocks[s, group]
            while rest != ZERO:
                place = place_of(source, s, group, rest)
                put(destination, place, eight(source, place))
                rest &= rest - ONE


@njit
def has_any(sets: Any, numbers: Any, count: int) -> bool:
    """Return whether any of the first ``count`` blocks of a list, by ``numbers``, is in a set of blocks."""
    found = ZERO
    for i in range(count):
        found |= at(sets, numbers[i] >> 6) >> np.uint64(numbers[i] & 63)
    return found & ONE != ZERO


@njit
def clear_cells(cells: Any, blocks: Any) -> None:
    """Take all cells out of a set that lies in ``blocks``."""
    for s in range(blocks.shape[0]):
        for group in range(blocks.shape[1]):
            rest = blocks[s, group]
            while rest != ZERO:
                put(cells, place_of(cells, s, group, rest), no_cells())
                rest &= rest - ONE


@njit
def clear_owner(planes: Any, occupied: Any, owner: int) -> None:
    """Make ``owner`` own nothing; clears only the blocks that it occupies."""
    clear_cells(planes[owner], occupied[owner])
    empty(occupied[owner])


@njit
def occupy(planes: Any, occupied: Any, owner: int) -> None:
    """Find the blocks that ``owner`` occupies from its plane."""
    empty(occupied[owner])
    for s in range(planes.shape[1]):
        for block in range(planes.shape[2] // EIGHT - 1):
            if rows_in(eight(planes[owner, s], first_row(block))) != ZERO:
                add_block(occupied[owner], s, block)


@njit
def set_cell(planes: Any, occupied: Any, owner: int, row: int, column: int) -> None:
    """Add the cell at (row, column), both from 0, to the plane of ``owner``."""
    s = column // STRIP_BITS
    planes[owner, s, row + 1] |= ONE << np.uint64(column % STRIP_BITS)
    add_block(occupied[owner], s, row // EIGHT)


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
def write_owner_codes(planes: Any, occupied: Any, codes: Any) -> None:
    """Write the owner code of every owned cell into ``codes``, uint8 (H + 2, W + 2) with a wall ring.

    Cells in no plane keep what they hold, so fill ``codes`` with BLOCKED first.
    """
    for owner in range(planes.shape[0]):
        for s in range(planes.shape[1]):
            for group in range(occupied.shape[2]):
                blocks = occupied[owner, s, group]
                while blocks != ZERO:
                    first = first_row(block_of(group, blocks))
                    for r in range(first, min(first + EIGHT, codes.shape[0] - 1)):
                        word = planes[owner, s, r]
                        while word != ZERO:
                            codes[r, s * STRIP_BITS + lowest_bit(word) + 1] = owner
                            word &= word - ONE
                    blocks &= blocks - ONE


@njit
def bounding_box(planes: Any, occupied: Any, owner: int) -> tuple[int, int, int, int]:
    """Return (top, bottom, left, right) of the cells of ``owner``, from 0, all inclusive.

    For an owner without cells top > bottom and left > right.
    """
    top, bottom = 2**62, -1
    left, right = planes.shape[1] * STRIP_BITS, -1
    for s in range(planes.shape[1]):
        union = no_cells()
        for group in range(occupied.shape[2]):
            blocks = occupied[owner, s, group]
            while blocks != ZERO:
                r = first_row(block_of(group, blocks))
                cells = eight(planes[owner, s], r)
                rows = rows_in(cells)
                if rows != ZERO:
                    top, bottom = min(top, r - 1 + lowest_bit(rows)), max(bottom, r - 1 + highest_bit(rows))
                    union |= cells
                blocks &= blocks - ONE
        columns = columns_in(union)
        if columns != ZERO:
            left = min(left, s * STRIP_BITS + lowest_bit(columns))
            right = max(right, s * STRIP_BITS + highest_bit(columns))
    return top, bottom, left, right
