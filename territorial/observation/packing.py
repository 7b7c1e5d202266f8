"""Packing of boards: bit planes of owner codes, frames and changes.

The format is that of docs/observation.md. ``boards`` of one game is uint64 (F, B, rows, S): frame, bit of the
code, row, strip, with whole blocks of rows, those beyond the map blocked. In memory a row is its cells in
order, lowest bit first, which is the format's row of bytes. Entry 0 is the board, entry i > 0 the XOR of
the frames i - 1 and i steps back. The XORs are zero nearly everywhere: ``history``, uint64 (F, B, groups),
has the *bands* that may not be; entry 0 has those of the board that changed since it was copied last. A band
is eight whole rows of a plane, so its words lie in a row, and sets of bands are like those of the blocks of
one strip.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.game.board import STRIP_BITS, block_of, first_row
from territorial.game.scratch import (
    LOG_BLOCK,
    LOG_STRIP,
    Work,
    entry_of_block,
    forget_entries,
    forget_plane,
    note_block,
    note_plane,
    place_in_log,
)
from territorial.game.state import Game
from territorial.jit.decorators import ONE, ZERO, lowest_bit, njit, popcount
from territorial.jit.simd import (
    EIGHT,
    at,
    eight,
    fill,
    no_cells,
    put,
    put_at,
    total,
    with_counts,
)
from territorial.observation.layout import NEW_GAME, NOT_LISTED

AT_ONCE = 4
"""Cells of a row of a block that are listed without asking whether there are so many."""
CODES_AT_ONCE = 64
ALL_BYTES = np.uint64(0x0101010101010101)


class PackedFrames(NamedTuple):
    """The frames of one game."""

    boards: npt.NDArray[np.uint64]  # (F, B, rows, S)
    history: npt.NDArray[np.uint64]  # (F, B, groups) bands that may not be zero, or have changed


class ChangedCells(NamedTuple):
    """Buffers for the cells that changed in a step, and their new owners."""

    cells: npt.NDArray[np.uint32]  # (D,) row * W + column
    codes: npt.NDArray[np.uint8]  # (D,)


@njit
def pack_board(game: Game, params: Params, frames: PackedFrames) -> int:
    """Write the board as it stands as all frames there are; return the length of the delta, NEW_GAME."""
    boards, history = frames.boards, frames.history
    for entry in range(len(boards)):
        fill(boards[entry], ZERO)
        fill(history[entry], ZERO if entry > 0 else ~ZERO)
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
def pack_changes(game: Game, params: Params, work: Work, frames: PackedFrames, changed: ChangedCells) -> int:
    """Bring ``frames`` up to date from the log of changes, which is empty afterwards.

    Lists the cells that ``changed`` and returns how many there are, or NOT_LISTED if they are more than fit.
    The board goes plane by plane: the same words of all planes lie so far apart that they drive each other
    out of the cache.
    """
    count = 0
    for entry in range(work.log_length[0]):
        count = list_changes(game, params, work, entry, changed, count)
    forget_entries(work)
    for b in range(frames.boards.shape[1]):
        age(frames, b)
        apply_changes(work, frames, b)
    return count if count <= len(changed.cells) else NOT_LISTED


@njit
def note_differences(game: Game, work: Work, board: Any) -> None:
    """Note in the log, which is empty, all that is not as on ``board``, uint64 (B, rows, S)."""
    groups = game.occupied.shape[2]
    for s in range(board.shape[2]):
        for group in range(groups):
            blocks = work.all_blocks[group]
            while blocks != ZERO:
                entry = entry_of_block(work, STRIP_BITS * (s * groups + group) + lowest_bit(blocks))
                note_block_again(game, work, board, entry)
                blocks &= blocks - ONE


@njit
def note_block_again(game: Game, work: Work, board: Any, entry: int) -> None:
    """Note the difference between the codes of a block and the codes on ``board``."""
    s, block = work.log_blocks[entry, LOG_STRIP], work.log_blocks[entry, LOG_BLOCK]
    place, owned = s * game.planes.shape[2] + first_row(block), no_cells()
    for owner in range(len(game.planes)):
        if (game.occupied[owner, s, block >> 6] >> np.uint64(block & 63)) & ONE != ZERO:
            cells = eight(game.planes[owner], place)
            note_block(work, entry, cells, NEUTRAL, owner)
            owned |= cells
    for b in range(len(board)):
        for row in range(EIGHT):
            work.rows[row] = board[b, EIGHT * block + row, s]
        note_plane(work, entry, b, eight(work.rows, 0) & owned)


@njit
def age(frames: PackedFrames, b: int) -> None:
    """Make plane ``b`` of every XOR that of the next older one, and the newest zero."""
    boards, history = frames.boards, frames.history
    strips = boards.shape[3]
    for entry in range(len(boards) - 1, 0, -1):
        for group in range(history.shape[2]):
            newer = history[entry - 1, b, group] if entry > 1 else ZERO
            bands = newer | history[entry, b, group]
            history[entry, b, group] = newer
            while bands != ZERO:
                first = EIGHT * strips * block_of(group, bands)
                for i in range(first, first + EIGHT * strips, EIGHT):
                    put(boards[entry, b], i, eight(boards[entry - 1, b], i) if entry > 1 else no_cells())
                bands &= bands - ONE


@njit
def list_changes(
    game: Game, params: Params, work: Work, entry: int, changed_cells: ChangedCells, count: int
) -> int:
    """List the changed cells of an entry of the log, by owner; return the number listed so far."""
    s, block = work.log_blocks[entry, LOG_STRIP], work.log_blocks[entry, LOG_BLOCK]
    place = s * game.planes.shape[2] + first_row(block)
    changed, bits = no_cells(), work.log_bits[entry]
    while bits != ZERO:
        changed |= eight(work.log_changes, place_in_log(entry, lowest_bit(bits)))
        bits &= bits - ONE
    for word in range(work.log_takers.shape[1]):
        takers = work.log_takers[entry, word]
        while takers != ZERO:
            owner = 64 * word + lowest_bit(takers)
            cells = changed & eight(game.planes[owner], place)
            first = EIGHT * block * params.width + s * STRIP_BITS
            count = list_block(work, cells, owner, first, params.width, changed_cells, count)
            takers &= takers - ONE
    return count


@njit
def apply_changes(work: Work, frames: PackedFrames, b: int) -> None:
    """Flip the logged bits in plane ``b`` of the board, write them as the newest XOR, empty the log."""
    boards, history = frames.boards, frames.history
    strips = boards.shape[3]
    for i in range(work.log_counts[b]):
        entry = work.log_planes[b, i]
        s, block = work.log_blocks[entry, LOG_STRIP], work.log_blocks[entry, LOG_BLOCK]
        changes = place_in_log(entry, b)
        place = EIGHT * block * strips + s
        for row in range(EIGHT):
            word = at(work.log_changes, changes + row)
            put_at(boards[0, b], place, at(boards[0, b], place) ^ word)
            if len(boards) > 1:
                put_at(boards[1, b], place, word)
            place += strips
        group, band = b * history.shape[2] + (block >> 6), ONE << np.uint64(block & 63)
        put_at(history, group, at(history, group) | band)
        if len(boards) > 1:
            put_at(history[1], group, at(history[1], group) | band)
    forget_plane(work, b)


@njit
def list_block(
    work: Work, cells: Any, owner: int, first: int, width: int, changed: ChangedCells, count: int
) -> int:
    """List ``cells`` of a block, which ``owner`` has now; return the new count, beyond the room if full.

    ``first`` is the block's first cell. Most rows have few cells, but how many cannot be foreseen: so some
    are written for every row in any case, and those that are none are written over by the next row. Codes are
    written 64 at a time.
    """
    index, code = changed.cells, changed.codes
    end = count + total(with_counts(no_cells(), cells))
    put(work.rows, 0, cells)
    has_room = end + CODES_AT_ONCE <= len(index)
    if not has_room and end > len(index):
        return len(index) + 1
    place = count
    for i in range(EIGHT):
        row, start = work.rows[i], first + i * width
        following = place + popcount(row)
        if has_room:
            for j in range(AT_ONCE):
                put_at(index, place + j, np.uint32(start + lowest_bit(row)))
                row = row & (row - ONE) if row != ZERO else ZERO
            place += AT_ONCE
        while row != ZERO:
            put_at(index, place, np.uint32(start + lowest_bit(row)))
            row &= row - ONE
            place += 1
        place = following
    if has_room:
        for i in range(count, end, CODES_AT_ONCE):
            put(code, i, no_cells() | np.uint64(owner) * ALL_BYTES)
    else:
        for i in range(count, end):
            put_at(code, i, np.uint8(owner))
    return end
