"""Packing: the board as bit planes of owner codes, the frames before it, and what changed, for all agents.

The format is that of docs/observation.md. ``boards`` of one game is uint64 (F, B, H, S): frame, bit of the
code, row, strip; in memory a row is its cells in order, lowest bit first, which is the format's row of
bytes. Entry 0 is the board, entry i > 0 the XOR of the frames i - 1 and i steps back. The XORs are zero
nearly everywhere: ``history``, uint64 (F, B, groups), has the *bands* that may not be. A band is eight whole
rows of a plane, so its words lie in a row, and sets of bands are like those of the blocks of one strip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, ZERO, lowest_bit, njit, popcount
from territorial._words import EIGHT, eight, no_cells, put, rows_in, word_of
from territorial.board import STRIP_BITS, block_of, first_row
from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.obs_layout import NEW_GAME, NOT_LISTED
from territorial.state import Game
from territorial.work import Work

AT_ONCE = 4
"""Cells of a word that are listed without asking whether there are so many."""


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
            for group in range(game.occupied.shape[2]):
                blocks = game.occupied[owner, s, group]
                while blocks != ZERO:
                    row = EIGHT * block_of(group, blocks)
                    for r in range(row, min(row + EIGHT, boards.shape[2])):
                        change_code(boards[0], r, s, game.planes[owner, s, r + 1], blocked, owner)
                    blocks &= blocks - ONE
    return NEW_GAME


@njit
def change_code(board: Any, row: int, s: int, cells: Any, old: int, new: int) -> None:
    """Turn ``cells`` of one word from code ``old`` to code ``new``."""
    for b in range(len(board)):
        if ((old ^ new) >> b) & 1:
            board[b, row, s] ^= cells


@njit
def pack_changes(
    game: Game, params: Params, work: Work, boards: Any, history: Any, index: Any, code: Any
) -> int:
    """Bring ``boards`` up to date from the log of changes, which is empty afterwards.

    Writes the cells that changed into ``index`` (uint32: row * W + column) and ``code`` (uint8) and returns
    how many there are, or NOT_LISTED if they are more than fit. Goes through one plane after the other:
    the same words of all planes lie so far apart that they drive each other out of the cache.
    """
    count = list_changes(game, params, work, index, code, boards.shape[1])
    frames = boards.reshape(boards.shape[0], boards.shape[1], -1)
    for b in range(boards.shape[1]):
        age(frames, history, b, boards.shape[3])
        apply_changes(work.changes[b], work.touched[b], frames, history, b)
    return count if count <= len(index) else NOT_LISTED


@njit
def age(frames: Any, history: Any, b: int, strips: int) -> None:
    """Make plane ``b`` of every XOR that of the next older one, and the newest zero."""
    for entry in range(len(frames) - 1, 0, -1):
        for group in range(history.shape[2]):
            newer = history[entry - 1, b, group] if entry > 1 else ZERO
            bands = newer | history[entry, b, group]
            history[entry, b, group] = newer
            while bands != ZERO:
                first, end = words_of_band(block_of(group, bands), strips, frames.shape[2])
                for i in range(first, end, EIGHT):
                    put(frames[entry], b, i, eight(frames[entry - 1], b, i) if entry > 1 else no_cells())
                bands &= bands - ONE


@njit
def words_of_band(band: int, strips: int, num_words: int) -> tuple[int, int]:
    """Return where in a plane the words of ``band`` begin and end.

    The last band may have fewer than eight rows: it is taken to begin so much earlier, as to what is done
    to bands it makes no difference whether it is done twice.
    """
    size = EIGHT * strips
    first = min(band * size, num_words - size)
    return first, first + size


@njit
def apply_changes(changes: Any, touched: Any, frames: Any, history: Any, b: int) -> None:
    """Turn over what the log says in plane ``b`` of the board, write it as the newest XOR, empty the log."""
    strips, is_stacked = len(touched), len(frames) > 1
    for s in range(strips):
        for group in range(touched.shape[1]):
            blocks = touched[s, group]
            touched[s, group] = ZERO
            if is_stacked:
                history[1, b, group] |= blocks
            while blocks != ZERO:
                row = EIGHT * block_of(group, blocks)
                end = min(row * strips + s + EIGHT * strips, frames.shape[2])
                i = np.uint64(row + 1)
                for place in range(np.uint64(row * strips + s), np.uint64(end), np.uint64(strips)):
                    word = changes[s, i]
                    frames[0, b, place] ^= word
                    if is_stacked:
                        frames[1, b, place] = word
                    i += ONE
                put(changes, s, row + 1, no_cells())
                blocks &= blocks - ONE


@njit
def list_changes(game: Game, params: Params, work: Work, index: Any, code: Any, num_bits: int) -> int:
    """List the cells that changed, by block and by owner; return how many, or beyond the room if full."""
    count = 0
    for s in range(work.takers.shape[0]):
        for group in range(work.touched.shape[2]):
            blocks = ZERO
            for b in range(num_bits):
                blocks |= work.touched[b, s, group]
            while blocks != ZERO:
                block = block_of(group, blocks)
                changed = no_cells()
                for b in range(num_bits):
                    changed |= eight(work.changes[b], s, first_row(block))
                for word in range(work.takers.shape[2]):
                    takers = work.takers[s, block, word]
                    work.takers[s, block, word] = ZERO
                    while takers != ZERO:
                        owner = 64 * word + lowest_bit(takers)
                        cells = changed & eight(game.planes[owner], s, first_row(block))
                        first = EIGHT * block * params.width + s * STRIP_BITS
                        count = list_block(cells, owner, first, params.width, index, code, count)
                        takers &= takers - ONE
                blocks &= blocks - ONE
    return count


@njit
def list_block(cells: Any, owner: int, first: int, width: int, index: Any, code: Any, count: int) -> int:
    """List ``cells`` of a block, which ``owner`` has now; ``first`` is the block's first cell."""
    rows = rows_in(cells)
    while rows != ZERO:
        i = lowest_bit(rows)
        count = list_cells(word_of(cells, i), owner, first + i * width, index, code, count)
        rows &= rows - ONE
    return count


@njit
def list_cells(cells: Any, owner: int, first: int, index: Any, code: Any, count: int) -> int:
    """List ``cells`` of one word; return the new count, beyond the room if full.

    Most words have few cells, but how many cannot be foreseen: so some are written in any case, and
    those that are none are written over by the next word.
    """
    end = count + popcount(cells)
    if max(end, count + AT_ONCE) > len(index):
        return list_one_by_one(cells, owner, first, index, code, count)
    for i in range(AT_ONCE):
        index[count + i] = np.uint32(first + lowest_bit(cells))
        code[count + i] = np.uint8(owner)
        cells = cells & (cells - ONE) if cells != ZERO else ZERO
    if cells != ZERO:
        list_one_by_one(cells, owner, first, index, code, count + AT_ONCE)
    return end


@njit
def list_one_by_one(cells: Any, owner: int, first: int, index: Any, code: Any, count: int) -> int:
    """List ``cells`` as long as there is room; return the new count, beyond the room if full."""
    if count + popcount(cells) > len(index):
        return len(index) + 1
    while cells != ZERO:
        index[count] = np.uint32(first + lowest_bit(cells))
        code[count] = np.uint8(owner)
        count += 1
        cells &= cells - ONE
    return count
