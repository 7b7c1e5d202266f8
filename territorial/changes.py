"""The log of cells that change hands during a step, from which the packed board is brought up to date.

It is scratch memory: a step is played and observed within one call, so the log is empty between calls.
``work.changes``, uint64[bit][strip][row] like planes of the board, holds the XOR of old and new owner
codes, ``work.touched``, uint64[bit][strip][group], the blocks where anything was noted in that bit, and
``work.takers``, uint64[strip][block][word], who took cells in a block. Without boards to observe these
have no rows at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, ZERO, lowest_bit, njit
from territorial._words import eight, put
from territorial.board import block_of, clear_cells, empty, first_row
from territorial.work import Work


@njit
def note_changes(work: Work, cells: Any, blocks: Any, old: int, new: int) -> None:
    """Note that ``cells``, which lie in ``blocks``, go from owner ``old`` to ``new``."""
    if work.changes.shape[2] == 0:
        return
    for s in range(blocks.shape[0]):
        for group in range(blocks.shape[1]):
            rest = blocks[s, group]
            if rest != ZERO:
                note_touched(work, s, group, rest, old, new)
            while rest != ZERO:
                block = block_of(group, rest)
                work.takers[s, block, new >> 6] |= ONE << np.uint64(new & 63)
                note_block(work, s, first_row(block), eight(cells, s, first_row(block)), old, new)
                rest &= rest - ONE


@njit
def note_touched(work: Work, s: int, group: int, blocks: Any, old: int, new: int) -> None:
    """Note in which bits of the codes ``blocks`` change."""
    difference = np.uint64(old ^ new)
    while difference != ZERO:
        work.touched[lowest_bit(difference), s, group] |= blocks
        difference &= difference - ONE


@njit
def note_block(work: Work, s: int, r: int, cells: Any, old: int, new: int) -> None:
    """Turn over the bits in which the codes of ``cells``, eight rows from ``r``, change."""
    difference = np.uint64(old ^ new)
    while difference != ZERO:
        changes = work.changes[lowest_bit(difference)]
        put(changes, s, r, eight(changes, s, r) ^ cells)
        difference &= difference - ONE


@njit
def forget_changes(work: Work) -> None:
    """Empty the log."""
    for b in range(work.changes.shape[0]):
        clear_cells(work.changes[b], work.touched[b])
        empty(work.touched[b])
    work.takers[:] = ZERO
