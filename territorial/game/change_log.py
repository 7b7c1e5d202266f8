"""The log of cells that change hands during a step, from which the packed board is brought up to date.

It is scratch memory: a step is played and observed within one call, so the log is empty between calls.
There is an *entry* for every block in which something was noted, in the order in which they came up, so that
a step of any board writes to the same few lines of the cache. Without boards to observe there is no room.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.game.board import STRIP_BITS, BlockList, CellSet
from territorial.game.scratch import CODE_BITS, LOG_BLOCK, LOG_NUMBER, LOG_STRIP, Work
from territorial.jit.decorators import ONE, ZERO, lowest_bit, njit
from territorial.jit.simd import EIGHT, at, eight, no_cells, put, put_at


@njit
def note_changes(work: Work, cells: CellSet, blocks: BlockList, old: int, new: int) -> None:
    """Note that ``cells``, which lie in ``blocks``, go from owner ``old`` to ``new``."""
    if work.log_entries.size == 0:
        return
    for i in range(blocks.length):
        entry = entry_of_block(work, blocks.numbers[i])
        note_block(work, entry, eight(cells.words, blocks.places[i]), old, new)


@njit
def entry_of_block(work: Work, number: int) -> int:
    """Return which entry of the log is that of a block; it gets one if it has none yet."""
    entry = at(work.log_entries, number)
    if entry == 0:
        entry = work.log_length[0] + 1
        work.log_length[0] = entry
        put_at(work.log_entries, number, entry)
        note_where(work, entry - 1, number)
    return entry - 1


@njit
def note_where(work: Work, entry: int, number: int) -> None:
    """Write down the number, the strip and the block of an entry."""
    groups, word = work.zone.shape[1], number >> 6
    s = word // groups if groups > 1 else word
    work.log_blocks[entry, LOG_NUMBER], work.log_blocks[entry, LOG_STRIP] = number, s
    work.log_blocks[entry, LOG_BLOCK] = STRIP_BITS * (word - s * groups) + (number & 63)


@njit
def note_block(work: Work, entry: int, cells: Any, old: int, new: int) -> None:
    """Turn over the bits in which the codes of ``cells``, eight rows, change, and note who takes them."""
    difference, bits = np.uint64(old ^ new), at(work.log_bits, entry)
    put_at(work.log_bits, entry, bits | difference)
    takers = entry * work.log_takers.shape[1] + (new >> 6)
    put_at(work.log_takers, takers, at(work.log_takers, takers) | ONE << np.uint64(new & 63))
    while difference != ZERO:
        b = lowest_bit(difference)
        place = place_in_log(entry, b)
        put(work.log_changes, place, eight(work.log_changes, place) ^ cells)
        count = work.log_counts[b]
        put_at(work.log_planes, b * work.log_planes.shape[1] + count, entry)
        work.log_counts[b] = count + ((bits >> np.uint64(b)) & ONE == ZERO)
        difference &= difference - ONE


@njit
def note_plane(work: Work, entry: int, b: int, cells: Any) -> None:
    """Turn over bit ``b`` of ``cells``, eight rows, without a word on who takes them."""
    bit = ONE << np.uint64(b)
    if work.log_bits[entry] & bit == ZERO:
        work.log_bits[entry] |= bit
        work.log_planes[b, work.log_counts[b]] = entry
        work.log_counts[b] += 1
    place = place_in_log(entry, b)
    put(work.log_changes, place, eight(work.log_changes, place) ^ cells)


@njit
def place_in_log(entry: int, b: int) -> int:
    """Return where in ``log_changes`` the eight rows of an entry are for bit ``b``."""
    return (CODE_BITS * entry + b) * EIGHT


@njit
def forget_entries(work: Work) -> None:
    """Empty the log but for what changed, plane by plane."""
    for entry in range(work.log_length[0]):
        put_at(work.log_entries, work.log_blocks[entry, LOG_NUMBER], 0)
        work.log_bits[entry] = ZERO
        for word in range(work.log_takers.shape[1]):
            work.log_takers[entry, word] = ZERO
    work.log_length[0] = 0


@njit
def forget_plane(work: Work, b: int) -> None:
    """Empty the log of what changed in plane ``b``."""
    for i in range(work.log_counts[b]):
        put(work.log_changes, place_in_log(work.log_planes[b, i], b), no_cells())
    work.log_counts[b] = 0


@njit
def forget_changes(work: Work) -> None:
    """Empty the log."""
    forget_entries(work)
    for b in range(CODE_BITS):
        forget_plane(work, b)
