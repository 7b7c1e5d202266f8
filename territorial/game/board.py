"""The board as bit planes per owner: fronts, their sizes and captures.

``planes`` is uint64[owner 0..P][strip][row]. A strip is 64 columns: column c (from 0) is bit c % 64 of
strip c // 64, row r (from 0) is row r + 1. The first row and all after the map's last are always zero, so
that no operation tests for an upper or lower edge. Blocked cells are in no plane.

A *block* is eight rows of a strip; block b begins at row 8 * b + 1. Sets of blocks are words as well,
uint64[strip][group]: bit b % 64 of group b // 64. ``occupied``, uint64[owner][strip][group], has every
block in which an owner has a cell. It may have more than that, never less. A border lies in few blocks,
so what is done along it goes from block to block, and the size of the map does not matter.

A :class:`CellSet` (what an owner has, or a front) is words like a plane, and the set of blocks that it may
lie in. A :class:`BlockList` has blocks one after the other. The *place* of a block is where its first row is
in the words of a set of cells, counted through all strips; its *number* is where its bit is in a set of
blocks, 64 to a word.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import ONE, TOP_BIT, ZERO, highest_bit, int64, lowest_bit, njit
from territorial.jit.simd import (
    EIGHT,
    aligned_zeros,
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


class CellSet(NamedTuple):
    """A set of cells, of an owner or of a front."""

    words: npt.NDArray[np.uint64]  # (S, rows) a bit for every cell, as in a plane
    blocks: npt.NDArray[np.uint64]  # (S, groups) the set of blocks in which it may have cells


class BlockList(NamedTuple):
    """The first ``length`` of the blocks in two arrays, with room for all R blocks of a map and one more."""

    places: npt.NDArray[np.int64]  # (R + 1,)
    numbers: npt.NDArray[np.int64]  # (R + 1,)
    length: int


class Box(NamedTuple):
    """The rows and columns in which cells lie, from 0, first and last; without cells first > last."""

    top: int
    bottom: int
    left: int
    right: int


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


@cache
def all_blocks(height: int) -> npt.NDArray[np.uint64]:
    """Return the set of all blocks of one strip of ``height`` rows, uint64 (groups,)."""
    is_block = np.arange(STRIP_BITS * num_groups(height)) < num_blocks(height)
    blocks: npt.NDArray[np.uint64] = np.packbits(is_block, bitorder="little").view("<u8")
    blocks.flags.writeable = False
    return blocks


# ---- sets of numbers, uint64[row][word]: of blocks by strip, of owners by player ------------------


@njit
def add_to_set(sets: Any, row: int, number: int) -> None:
    """Put ``number`` into the set of ``row``."""
    sets[row, number >> 6] |= ONE << np.uint64(number & 63)


@njit
def drop_from_set(sets: Any, row: int, number: int) -> None:
    """Take ``number`` out of the set of ``row``."""
    sets[row, number >> 6] &= ~(ONE << np.uint64(number & 63))


@njit
def is_in_set(sets: Any, row: int, number: int) -> int:
    """Return 1 if ``number`` is in the set of ``row``, else 0."""
    return int64((sets[row, number >> 6] >> np.uint64(number & 63)) & ONE)


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
def add_number(blocks: Any, number: int, is_in: bool) -> None:
    """Put the block ``number`` into a set of blocks if it ``is_in``, without a branch."""
    put_at(blocks, number >> 6, at(blocks, number >> 6) | np.uint64(is_in) << np.uint64(number & 63))


@njit
def has_common(blocks: Any, others: Any) -> bool:
    """Return whether two sets of blocks, uint64 (S, groups), have any in common."""
    common = ZERO
    for word in range(blocks.size):
        common |= at(blocks, word) & at(others, word)
    return common != ZERO


@njit
def empty(blocks: Any) -> None:
    """Take all blocks out of a set."""
    for s in range(blocks.shape[0]):
        for group in range(blocks.shape[1]):
            blocks[s, group] = ZERO


@njit
def with_length(blocks: BlockList, length: int) -> BlockList:
    """Return the list of the first ``length`` blocks in the arrays of ``blocks``."""
    return BlockList(blocks.places, blocks.numbers, length)


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
    there, the strip's own words, is masked out. The rows above and below are those of the block moved by one.
    Eight words that lie across lines of the cache take twice as long to load, and far longer if they
    have just been written. There are no branches, as the strip of the next block is hard to foretell.
    """
    strip = cells.shape[1]
    has_left, has_right = place >= strip, place < cells.size - strip
    own = eight(cells, place)
    left = eight(cells, place - strip * has_left)
    right = eight(cells, place + strip * has_right)
    near = (own << ONE) | (own >> ONE)
    near |= rows_above(own, at(cells, place - 1)) | rows_below(own, at(cells, place + EIGHT))
    near |= (left >> TOP_BIT) & np.uint64(has_left)
    return near | ((right << TOP_BIT) & (np.uint64(has_right) << TOP_BIT))


@njit
def find_front(own: CellSet, cells: CellSet, front: CellSet, blocks: BlockList) -> BlockList:
    """Write the ``cells`` with a neighbour in ``own`` into ``front``, whose words must be zero.

    Returns the list of its blocks, in the arrays of ``blocks``.
    """
    count = 0
    for s in range(len(own.words)):
        for group in range(own.blocks.shape[1]):
            rest = found = blocks_beside(own.blocks, s, group) & cells.blocks[s, group]
            while rest != ZERO:
                place = place_of(cells.words, s, group, rest)
                within = beside(own.words, place) & eight(cells.words, place)
                put(front.words, place, within)
                is_empty = rows_in(within) == ZERO
                put_at(blocks.places, count, place)
                put_at(blocks.numbers, count, number_of(cells.blocks, s, group, rest))
                count += not is_empty
                found ^= rest & (~rest + ONE) if is_empty else ZERO
                rest &= rest - ONE
            front.blocks[s, group] = found
    return with_length(blocks, count)


@njit
def front_size(own: CellSet, cells: CellSet) -> int:
    """Return the number of ``cells`` that have a neighbour in ``own``."""
    sizes = no_cells()
    for s in range(len(own.words)):
        for group in range(own.blocks.shape[1]):
            blocks = blocks_beside(own.blocks, s, group) & cells.blocks[s, group]
            while blocks != ZERO:
                place = place_of(cells.words, s, group, blocks)
                sizes = with_counts(sizes, beside(own.words, place) & eight(cells.words, place))
                blocks &= blocks - ONE
    return total(sizes)


@njit
def lose_front(cells: CellSet, front: CellSet, zone: Any, all_blocks: Any, listed: BlockList) -> BlockList:
    """Take ``front`` out of ``cells``, which has all of it, and return the list of its *zone*.

    These are the blocks in which there are cells of the front or beside it. Those that are not among
    ``listed``, the blocks of the front, are appended. ``zone``, uint64 (S, groups), must be an empty set of
    blocks, and is again afterwards; ``all_blocks``: uint64 (groups,), those that there are in a strip.
    """
    for s in range(len(cells.words)):
        for group in range(front.blocks.shape[1]):
            blocks = front.blocks[s, group]
            if blocks == ZERO:
                continue
            emptied = above = below = left = right = ZERO
            while blocks != ZERO:
                place, block = place_of(cells.words, s, group, blocks), blocks & (~blocks + ONE)
                taken = eight(front.words, place)
                rest = eight(cells.words, place) ^ taken
                put(cells.words, place, rest)
                rows = rows_in(taken)
                emptied |= block if rows_in(rest) == ZERO else ZERO
                above |= block if rows & ONE != ZERO else ZERO
                below |= block if rows & LAST_ROW != ZERO else ZERO
                left |= block if rows_in(taken & ONE) != ZERO else ZERO
                right |= block if rows_in(taken & TOP) != ZERO else ZERO
                blocks &= blocks - ONE
            cells.blocks[s, group] &= ~emptied
            add_zone(zone, all_blocks, s, group, above >> ONE | below << ONE)
            add_zone(zone, all_blocks, s, group - 1, above << TOP_BIT)
            add_zone(zone, all_blocks, s, group + 1, below >> TOP_BIT)
            add_zone(zone, all_blocks, s - 1, group, left)
            add_zone(zone, all_blocks, s + 1, group, right)
    count = listed.length
    for s in range(len(cells.words)):
        for group in range(front.blocks.shape[1]):
            blocks = zone[s, group] & ~front.blocks[s, group]
            zone[s, group] = ZERO
            count = list_word(CellSet(cells.words, zone), s, group, blocks, with_length(listed, count))
    return with_length(listed, count)


@njit
def add_zone(zone: Any, all_blocks: Any, s: int, group: int, blocks: Any) -> None:
    """Put the existing ones of ``blocks`` into the zone."""
    if (0 <= s < zone.shape[0]) & (0 <= group < zone.shape[1]):
        zone[s, group] |= blocks & all_blocks[group]


@njit
def gain_front(cells: CellSet, front: CellSet, listed: BlockList) -> None:
    """Add ``front``, with blocks ``listed``, to ``cells``; then its words are zero, its blocks stay."""
    for i in range(listed.length):
        place = listed.places[i]
        put(cells.words, place, eight(cells.words, place) | eight(front.words, place))
        put(front.words, place, no_cells())
    for word in range(cells.blocks.size):
        put_at(cells.blocks, word, at(cells.blocks, word) | at(front.blocks, word))


@njit
def list_blocks(cells: CellSet, blocks: BlockList) -> BlockList:
    """Return the list of the blocks of ``cells``, in the arrays of ``blocks``."""
    count = 0
    for s in range(cells.blocks.shape[0]):
        for group in range(cells.blocks.shape[1]):
            count = list_word(cells, s, group, cells.blocks[s, group], with_length(blocks, count))
    return with_length(blocks, count)


@njit
def list_word(cells: CellSet, s: int, group: int, blocks: Any, listed: BlockList) -> int:
    """Append ``blocks``, a word (s, group) of a set like that of ``cells``; return how many there are."""
    count = listed.length
    while blocks != ZERO:
        put_at(listed.places, count, place_of(cells.words, s, group, blocks))
        put_at(listed.numbers, count, number_of(cells.blocks, s, group, blocks))
        count += 1
        blocks &= blocks - ONE
    return count


@njit
def copy_cells(source: CellSet, words: Any) -> None:
    """Copy the cells of ``source`` into ``words``, uint64 (S, rows)."""
    for s in range(source.blocks.shape[0]):
        for group in range(source.blocks.shape[1]):
            rest = source.blocks[s, group]
            while rest != ZERO:
                place = place_of(source.words, s, group, rest)
                put(words, place, eight(source.words, place))
                rest &= rest - ONE


@njit
def clear_words(cells: CellSet) -> None:
    """Make the words of ``cells`` zero in its blocks; the set of blocks stays."""
    for s in range(cells.blocks.shape[0]):
        for group in range(cells.blocks.shape[1]):
            rest = cells.blocks[s, group]
            while rest != ZERO:
                put(cells.words, place_of(cells.words, s, group, rest), no_cells())
                rest &= rest - ONE


@njit
def clear_cells(cells: CellSet) -> None:
    """Take all cells and all blocks out of a set; looks at the blocks that it had alone."""
    clear_words(cells)
    empty(cells.blocks)


@njit
def find_blocks(cells: CellSet) -> None:
    """Find the blocks of ``cells`` from its words."""
    empty(cells.blocks)
    for s in range(cells.words.shape[0]):
        for block in range(cells.words.shape[1] // EIGHT - 1):
            if rows_in(eight(cells.words[s], first_row(block))) != ZERO:
                add_to_set(cells.blocks, s, block)


@njit
def set_cell(cells: CellSet, row: int, column: int) -> None:
    """Add the cell at (row, column), both from 0."""
    s = column // STRIP_BITS
    cells.words[s, row + 1] |= ONE << np.uint64(column % STRIP_BITS)
    add_to_set(cells.blocks, s, row // EIGHT)


@njit
def drop_cell(cells: CellSet, row: int, column: int) -> None:
    """Remove the cell at (row, column), both from 0; its block stays in the set of blocks."""
    cells.words[column // STRIP_BITS, row + 1] &= ~(ONE << np.uint64(column % STRIP_BITS))


@njit
def has_cell(cells: CellSet, row: int, column: int) -> bool:
    """Return whether the cell at (row, column), both from 0 and within the map, is in the set."""
    word = cells.words[column // STRIP_BITS, row + 1] >> np.uint64(column % STRIP_BITS)
    return (word & ONE) != ZERO


@njit
def write_owner_codes(planes: Any, occupied: Any, codes: Any) -> None:
    """Write the owner code of every owned cell into ``codes``, uint8 (H + 2, W + 2) with a wall ring.

    ``planes``: uint64 (P + 1, S, rows), ``occupied``: uint64 (P + 1, S, groups), the cells of all owners.
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
def bounding_box(cells: CellSet) -> Box:
    """Return the smallest box around ``cells``."""
    top, bottom = 2**62, -1
    left, right = len(cells.words) * STRIP_BITS, -1
    for s in range(len(cells.words)):
        union = no_cells()
        for group in range(cells.blocks.shape[1]):
            blocks = cells.blocks[s, group]
            while blocks != ZERO:
                r = first_row(block_of(group, blocks))
                words = eight(cells.words[s], r)
                rows = rows_in(words)
                if rows != ZERO:
                    top, bottom = min(top, r - 1 + lowest_bit(rows)), max(bottom, r - 1 + highest_bit(rows))
                    union |= words
                blocks &= blocks - ONE
        columns = columns_in(union)
        if columns != ZERO:
            left = min(left, s * STRIP_BITS + lowest_bit(columns))
            right = max(right, s * STRIP_BITS + highest_bit(columns))
    return Box(top, bottom, left, right)
