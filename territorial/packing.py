"""Packing: the board as bit planes of owner codes, the frames before it, and what changed, for all agents.

The format is that of docs/observation.md. ``boards`` of one game is uint64 (F, B, H, S): frame, bit of the
code, row, strip; in memory a row is its cells in order, lowest bit first, which is the format's row of
bytes. Entry 0 is the board, entry i > 0 the XOR of the frames i - 1 and i steps back. The XORs are zero
nearly everywhere: ``history``, uint64 (F, S, ceil(H / 64)), has a bit for every word that may not be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, ZERO, int64, lowest_bit, njit, popcount
from territorial.board import END, FIRST, STRIP_BITS
from territorial.changes import SEVERAL
from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.obs_layout import NEW_GAME, NOT_LISTED
from territorial.state import Game
from territorial.work import Work


@njit
def pack_board(game: Game, params: Params, boards: Any, history: Any) -> int:
    """Write the board as it stands as all frames there are; return the length of the delta, NEW_GAME."""
    for entry in range(len(boards)):
        boards[entry] = ZERO
        history[entry] = ZERO
    blocked = params.num_players + 1
    for s in range(boards.shape[3]):
        beyond = max(0, STRIP_BITS * (s + 1) - params.width)
        for r in range(boards.shape[2]):
            change_code(boards[0], r, s, ~ZERO >> np.uint64(beyond), NEUTRAL, blocked)
    # Every cell is blocked so far; those in the plane of an owner change from that code to the owner's.
    for owner in range(len(game.planes)):
        for s in range(game.planes.shape[1]):
            for r in range(game.spans[owner, s, FIRST], game.spans[owner, s, END]):
                change_code(boards[0], r - 1, s, game.planes[owner, s, r], blocked, owner)
    return NEW_GAME


@njit
def change_code(board: Any, row: int, s: int, cells: Any, old: int, new: int) -> None:
    """Turn ``cells`` of one word from code ``old`` to code ``new``."""
    for b in range(len(board)):
        if ((old ^ new) >> b) & 1:
            board[b, row, s] ^= cells


@njit
def pack_changes(params: Params, work: Work, boards: Any, history: Any, index: Any, code: Any) -> int:
    """Bring ``boards`` up to date from the log of changes, which is empty afterwards.

    Writes the cells that changed into ``index`` (uint32: row * W + column) and ``code`` (uint8) and returns
    how many there are, or NOT_LISTED if they are more than fit.
    """
    for entry in range(len(boards) - 1, 1, -1):
        shift_entry(boards, history, entry)
    count = 0
    for s in range(work.touched.shape[0]):
        for group in range(work.touched.shape[1]):
            rows = work.touched[s, group]
            if len(boards) > 1:
                clear_entry(boards, history, s, group, rows)
            work.touched[s, group] = ZERO
            while rows != ZERO:
                row = 64 * group + lowest_bit(rows)
                changed = apply_change(work.changes[s, row], boards, row, s)
                first = row * params.width + s * STRIP_BITS
                if work.takers[s, row] != SEVERAL:
                    count = list_cells(changed, work.takers[s, row], first, index, code, count)
                else:
                    count = list_mixed_cells(boards[0], row, s, changed, first, index, code, count)
                rows &= rows - ONE
    return count if count <= len(index) else NOT_LISTED


@njit
def shift_entry(boards: Any, history: Any, entry: int) -> None:
    """The XOR before ``entry`` takes its place, where either is not zero."""
    for s in range(history.shape[1]):
        for group in range(history.shape[2]):
            rows = history[entry, s, group] | history[entry - 1, s, group]
            history[entry, s, group] = history[entry - 1, s, group]
            while rows != ZERO:
                row = 64 * group + lowest_bit(rows)
                for b in range(boards.shape[1]):
                    boards[entry, b, row, s] = boards[entry - 1, b, row, s]
                rows &= rows - ONE


@njit
def clear_entry(boards: Any, history: Any, s: int, group: int, touched: Any) -> None:
    """Make the newest XOR zero in 64 rows of a strip, but for the words that are written anew."""
    rows = history[1, s, group] & ~touched
    history[1, s, group] = touched
    while rows != ZERO:
        row = 64 * group + lowest_bit(rows)
        for b in range(boards.shape[1]):
            boards[1, b, row, s] = ZERO
        rows &= rows - ONE


@njit
def apply_change(change: Any, boards: Any, row: int, s: int) -> Any:
    """Apply the noted ``change`` of one word, clear it, and return the cells that differ by it."""
    cells = ZERO
    for b in range(boards.shape[1]):
        difference = change[b]
        change[b] = ZERO
        cells |= difference
        boards[0, b, row, s] ^= difference
        if len(boards) > 1:
            boards[1, b, row, s] = difference
    return cells


@njit
def list_cells(cells: Any, owner: int, first: int, index: Any, code: Any, count: int) -> int:
    """List ``cells`` of one word, which ``owner`` has now; return the new count, beyond the room if full.

    ``first`` is the index of the word's first cell.
    """
    if count + popcount(cells) > len(index):
        return len(index) + 1
    while cells != ZERO:
        index[count] = np.uint32(first + lowest_bit(cells))
        code[count] = np.uint8(owner)
        count += 1
        cells &= cells - ONE
    return count


@njit
def list_mixed_cells(
    board: Any, row: int, s: int, cells: Any, first: int, index: Any, code: Any, count: int
) -> int:
    """List ``cells`` of one word that may have several owners now, those of one owner together."""
    while cells != ZERO:
        lowest = np.uint64(lowest_bit(cells))
        owner, same = int64(0), cells
        for b in range(len(board)):
            word = board[b, row, s]
            bit = (word >> lowest) & ONE
            owner |= int64(bit) << b
            same &= word if bit != ZERO else ~word
        cells ^= same
        count = list_cells(same, owner, first, index, code, count)
    return count
