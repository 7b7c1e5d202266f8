"""The log of cells that change hands during a step, from which the packed board is brought up to date.

It is scratch memory: a step is played and observed within one call, so the log is empty between calls.
``work.changes[s, row]`` holds, for the 64 cells of strip s in that row (from 0), the XOR of old and new owner
codes as bit planes, lowest bit first: eight words, one cache line. ``work.touched`` has a bit for
each of these places where anything was noted, and ``work.takers`` who took cells there, SEVERAL if not
the same each time. Without boards to observe these have no rows at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, ZERO, lowest_bit, njit
from territorial.board import END, FIRST
from territorial.work import Work

SEVERAL = -1


@njit
def note_changes(work: Work, cells: Any, spans: Any, old: int, new: int) -> None:
    """Note that ``cells``, uint64[strip][row] within ``spans``, go from owner ``old`` to ``new``."""
    if work.changes.shape[1] == 0:
        return
    for s in range(len(cells)):
        for r in range(np.uint64(spans[s, FIRST]), np.uint64(max(spans[s, FIRST], spans[s, END]))):
            word = cells[s, r]
            if word != ZERO:
                row = r - ONE
                rows, bit = work.touched[s, row >> np.uint64(6)], ONE << (row & np.uint64(63))
                is_first = (rows & bit) == ZERO
                work.takers[s, row] = new if is_first or work.takers[s, row] == new else SEVERAL
                work.touched[s, row >> np.uint64(6)] = rows | bit
                difference = np.uint64(old ^ new)
                while difference != ZERO:
                    work.changes[s, row, lowest_bit(difference)] ^= word
                    difference &= difference - ONE


@njit
def forget_changes(work: Work) -> None:
    """Empty the log."""
    for s in range(work.touched.shape[0]):
        for group in range(work.touched.shape[1]):
            work.touched[s, group] = ZERO
    for s in range(work.changes.shape[0]):
        for row in range(work.changes.shape[1]):
            for b in range(work.changes.shape[2]):
                work.changes[s, row, b] = ZERO
