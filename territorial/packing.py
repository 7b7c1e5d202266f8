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
from territorial.work import CODE_BITS, Work


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
    how many there are, or NOT_LISTED if they are more than fit. Goes through one plane after the other:
    the same words of all planes lie so far apart that they drive each other out of the cache.
    """
    count = 0
    for s in range(work.touched.shape[0]):
        for entry in range(len(boards) - 1, 1, -1):
            num_rows = list_rows(history[entry, s], history[entry - 1, s], work.listed)
            move_words(boards[entry - 1], boards[entry], s, work.listed, num_rows)
            copy_set(history[entry - 1, s], history[entry, s])
        if len(boards) > 1:
            num_rows = list_rows(history[1, s], history[1, s], work.listed)
            clear_words(boards[1], s, work.listed, num_rows)
            copy_set(work.touched[s], history[1, s])
        num_rows = list_rows(work.touched[s], work.touched[s], work.listed)
        for entry in range(min(2, len(boards))):
            apply_changes(work.changes[s], boards[entry], s, work.listed, num_rows)
        for i in range(num_rows):
            row = work.listed[i]
            cells = take_changes(work.changes[s, row])
            first = row * params.width + s * STRIP_BITS
            if work.takers[s, row] != SEVERAL:
                count = list_cells(cells, work.takers[s, row], first, index, code, count)
            else:
                count = list_mixed_cells(boards[0], row, s, cells, first, index, code, count)
        for group in range(work.touched.shape[1]):
            work.touched[s, group] = ZERO
    return count if count <= len(index) else NOT_LISTED


@njit
def list_rows(some: Any, others: Any, listed: Any) -> int:
    """Write the rows that are in one of two sets into ``listed``, rising; return how many there are."""
    count = 0
    for group in range(len(some)):
        rows = some[group] | others[group]
        while rows != ZERO:
            listed[count] = 64 * group + lowest_bit(rows)
            count += 1
            rows &= rows - ONE
    return count


@njit
def copy_set(source: Any, destination: Any) -> None:
    """Copy a set of rows."""
    for group in range(len(source)):
        destination[group] = source[group]


@njit
def move_words(newer: Any, older: Any, s: int, rows: Any, num_rows: int) -> None:
    """Copy the words of strip ``s`` in ``rows`` from one entry of a stack to the next."""
    for b in range(len(newer)):
        for i in range(num_rows):
            older[b, rows[i], s] = newer[b, rows[i], s]


@njit
def clear_words(entry: Any, s: int, rows: Any, num_rows: int) -> None:
    """Make the words of strip ``s`` in ``rows`` zero."""
    for b in range(len(entry)):
        for i in range(num_rows):
            entry[b, rows[i], s] = ZERO


@njit
def apply_changes(changes: Any, entry: Any, s: int, rows: Any, num_rows: int) -> None:
    """Apply the noted ``changes`` of strip ``s`` to a board, or to an XOR that is zero in ``rows``."""
    for b in range(len(entry)):
        for i in range(num_rows):
            entry[b, rows[i], s] ^= changes[rows[i], b]


@njit
def take_changes(change: Any) -> Any:
    """Clear the noted ``change`` of one word and return the cells that differ by it."""
    cells = ZERO
    for b in range(CODE_BITS):
        cells |= change[b]
        change[b] = ZERO
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
