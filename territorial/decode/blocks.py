"""A block: some successive steps of all games as key frames and deltas, and boards built from them again."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.files.arrays import WritableArrays
from territorial.jit.decorators import kernel, njit
from territorial.observation.layout import MAX_FRAMES, ObsLayout

KEY_FRAME = -1
"""The count of a key frame in a block, of a new game or not."""
AGE_LIMIT = MAX_FRAMES - 1
"""An age that no lookup exceeds."""
CUT = 128
"""Added to the age of a game that was not seen from its beginning."""


class Sizes(NamedTuple):
    """What a block holds, or has room for: steps, key frames, cells of deltas."""

    steps: int
    keys: int
    cells: int


def cell_dtype(layout: ObsLayout) -> type[np.unsignedinteger[Any]]:
    """Return the narrowest dtype for the number of a bit in one bit plane."""
    return np.uint16 if layout.height * layout.row_bytes * 8 <= 1 << 16 else np.uint32


def key_bytes(layout: ObsLayout) -> int:
    """Return the bytes of a key frame."""
    return layout.num_planes * layout.height * layout.row_bytes


@dataclass
class Block(WritableArrays):
    """The steps ``begin`` to ``begin + used.steps - 1`` of E games; in the first, all are key frames.

    All arrays may have room for more than is used; ``trim`` takes it away.
    """

    begin: int
    used: Sizes
    counts: npt.NDArray[np.int32]
    """(steps, E): cells in the delta, -1 for a key frame."""
    places: npt.NDArray[np.int64]
    """(steps, E): which key frame, or which is the first cell of the delta."""
    ages: npt.NDArray[np.uint8]
    """(steps, E): how many steps before this one are known to be of the same game, at most AGE_LIMIT; plus
    CUT where the game may have begun before those."""
    keys: npt.NDArray[np.uint8]
    """(keys, B, H * ceil(W/8)): whole boards in bit planes."""
    cells: npt.NDArray[np.unsignedinteger[Any]]
    """(cells,): numbers of bits in a bit plane, row * 8 * ceil(W/8) + column."""
    codes: npt.NDArray[np.uint8]
    """(cells,): owner codes."""

    @classmethod
    def empty(cls, begin: int, room: Sizes, layout: ObsLayout, num_games: int) -> Block:
        """Return a block without steps."""
        plane_bytes = layout.height * layout.row_bytes
        return cls(
            begin,
            Sizes(0, 0, 0),
            np.empty((room.steps, num_games), np.int32),
            np.empty((room.steps, num_games), np.int64),
            np.empty((room.steps, num_games), np.uint8),
            np.empty((room.keys, layout.num_planes, plane_bytes), np.uint8),
            np.empty(room.cells, cell_dtype(layout)),
            np.empty(room.cells, np.uint8),
        )

    @property
    def end(self) -> int:
        """The step after the last."""
        return self.begin + self.used.steps

    @property
    def room(self) -> Sizes:
        """What the arrays have room for."""
        return Sizes(len(self.counts), len(self.keys), len(self.cells))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, with the room that is not used."""
        return self.bytes_of(self.room)

    def bytes_of(self, sizes: Sizes) -> int:
        """Return the bytes that the arrays take with room for ``sizes``."""
        return sum(
            size * math.prod(array.shape[1:]) * array.itemsize
            for size, arrays in zip(sizes, self._arrays(), strict=True)
            for array in arrays.values()
        )

    def room_for(self, counts: npt.NDArray[np.int32]) -> Sizes:
        """Return the room that one more step needs, some to spare included; ``counts``: as in a delta."""
        keys = int((counts == KEY_FRAME).sum())
        cells = int(counts.sum()) - keys * KEY_FRAME
        needed = Sizes(self.used.steps + 1, self.used.keys + keys, self.used.cells + cells)
        # By a quarter at a time: what is there is then copied some four times until the block is full.
        sizes = (
            have if need <= have else max(need, have + have // 4)
            for need, have in zip(needed, self.room, strict=True)
        )
        return Sizes(*sizes)

    def append(
        self,
        room: Sizes,
        boards: npt.NDArray[np.uint8],
        delta: Delta,
        ages: npt.NDArray[np.uint8],
        width: int,
    ) -> None:
        """Add one step, with arrays of the size ``room`` (see ``room_for``).

        Kept are the boards, uint8 (E, B, H, ceil(W/8)), of games with a key frame, and the deltas of the
        others. ``ages``: (E,). ``width``: W.
        """
        self._resize(room)
        step, num_keys, num_cells = self.used
        is_key = delta.counts == KEY_FRAME
        end = num_keys + int(is_key.sum())
        if end > num_keys:
            new = self.keys[num_keys:end].reshape(-1, *boards.shape[1:])
            new[...] = boards if len(new) == len(boards) else boards[is_key]
        self.counts[step] = delta.counts
        self.ages[step] = ages
        row_bits = 8 * boards.shape[-1]
        num_cells = copy_deltas(
            *delta, width, row_bits, num_keys, num_cells, self.places[step], self.cells, self.codes
        )
        self.used = Sizes(step + 1, end, num_cells)

    def trim(self) -> None:
        """Take away all room that is not used."""
        self._resize(self.used)

    def since(self, step: int, boards: npt.NDArray[np.uint8]) -> Block:
        """Return a copy that begins with ``step``; ``boards``: uint8 (E, B, H * ceil(W/8)), those of then."""
        start, num_games = step - self.begin, len(boards)
        before = self.counts[: start + 1]
        old_keys, old_cells = int((before == KEY_FRAME).sum()), int(before.clip(min=0).sum())
        counts = self.counts[start : self.used.steps].copy()
        places = self.places[start : self.used.steps].copy()
        places -= np.where(counts == KEY_FRAME, old_keys - num_games, old_cells)
        counts[0], places[0] = KEY_FRAME, np.arange(num_games)
        keys = np.concatenate([boards, self.keys[old_keys : self.used.keys]])
        cells, codes = (array[old_cells : self.used.cells].copy() for array in (self.cells, self.codes))
        ages = self.ages[start : self.used.steps].copy()
        used = Sizes(len(counts), len(keys), len(cells))
        return Block(step, used, counts, places, ages, keys, cells, codes)

    def trimmed(self) -> Block:
        """Return a block of the same steps without room to spare; arrays that have none are shared."""
        block = copy.copy(self)
        block.trim()
        return block

    def _resize(self, room: Sizes) -> None:
        for size, used, arrays in zip(room, self.used, self._arrays(), strict=True):
            for name, array in arrays.items():
                if len(array) != size:
                    resized = np.empty((size, *array.shape[1:]), array.dtype)
                    resized[:used] = array[:used]
                    setattr(self, name, resized)

    def _arrays(self) -> tuple[dict[str, npt.NDArray[Any]], ...]:
        """Return the arrays by name: those with an entry per step, per key frame and per cell."""
        return (
            {"counts": self.counts, "places": self.places, "ages": self.ages},
            {"keys": self.keys},
            {"cells": self.cells, "codes": self.codes},
        )


class Delta(NamedTuple):
    """The changes of one step of E games, as an observation lists them; in blocks -1 is any key frame."""

    indices: npt.NDArray[np.uint32]  # (E, D)
    codes: npt.NDArray[np.uint8]  # (E, D)
    counts: npt.NDArray[np.int32]  # (E,)


@kernel
def find_bad_change(indices: Any, codes: Any, counts: Any, num_cells: int, largest_code: int) -> int:
    """Return k * D + i of the first change on no cell or of no owner code, -1 if all are well."""
    for k in range(len(counts)):
        for i in range(counts[k]):
            if indices[k, i] >= num_cells or codes[k, i] > largest_code:
                return k * indices.shape[1] + i
    return -1


@kernel
def copy_deltas(
    indices: Any,
    codes: Any,
    counts: Any,
    width: int,
    row_bits: int,
    next_key: int,
    next_cell: int,
    places: Any,
    cells: Any,
    new_codes: Any,
) -> int:
    """Write deltas into ``cells`` and ``new_codes`` from ``next_cell`` on, and into ``places`` what is where.

    Of row * width + column becomes row * row_bits + column, the number of the bit: what is looked up
    often then has no division. Key frames are only counted. Returned is the next free cell.
    """
    for k in range(len(counts)):
        if counts[k] == KEY_FRAME:
            places[k] = next_key
            next_key += 1
        else:
            places[k] = next_cell
            for i in range(counts[k]):
                row = indices[k, i] // width
                cells[next_cell] = row * row_bits + (indices[k, i] - row * width)
                new_codes[next_cell] = codes[k, i]
                next_cell += 1
    return next_cell


SLOT, GAME, OLDEST, NEWEST = range(4)
"""The columns of what ``rebuild`` is asked for."""


@kernel
def rebuild(counts: Any, places: Any, keys: Any, cells: Any, codes: Any, wanted: Any, out: Any) -> None:
    """Bring stacks up to the end of a block, or to their newest frames where those lie in it.

    ``wanted``: int64 (n, 4), columns SLOT, GAME, OLDEST, NEWEST: place in ``out``, game, and the steps of the
    stack's oldest frame and of its newest, counted from the begin of the block. Sorted by game, then newest
    step. Where the oldest is below 0, the blocks before have been here already.
    ``out``: uint8 (any, F, B, H * ceil(W/8)): entry 0 is the board so far, the others begin as zeros.
    """
    for i in range(len(wanted)):
        slot, game = wanted[i, SLOT], wanted[i, GAME]
        oldest, newest = wanted[i, OLDEST], wanted[i, NEWEST]
        board = out[slot, 0]
        step = 0
        if oldest >= 0:
            step = begin_stack(counts, places, keys, wanted, i, out)
        last = min(newest, len(counts) - 1)
        while step <= last:
            place, count = places[step, game], counts[step, game]
            if step <= oldest:
                if count == KEY_FRAME:
                    assign(board, keys[place])
                else:
                    change(board, cells, codes, place, count)
            else:
                record = out[slot, newest - step + 1]
                if count == KEY_FRAME:
                    assign(record, keys[place])
                    toggle(record, board)
                    assign(board, keys[place])
                else:
                    change_and_record(board, record, cells, codes, place, count)
            step += 1


@njit
def begin_stack(counts: Any, places: Any, keys: Any, wanted: Any, i: int, out: Any) -> int:
    """Write a board at or before the oldest frame of stack ``i`` and return the step that follows it.

    Taken is what leaves least to do: the key frame, or the stack before, if it is of the same game. Of that
    it is the newest board, or, as that may be too new, the board that its XORs lead back to.
    """
    slot, game, oldest = wanted[i, SLOT], wanted[i, GAME], wanted[i, OLDEST]
    key = oldest
    while counts[key, game] != KEY_FRAME:
        key -= 1
    if i > 0 and wanted[i - 1, GAME] == game:
        before, newest = wanted[i - 1, SLOT], wanted[i - 1, NEWEST]
        reached = min(newest, len(counts) - 1)
        if abs(reached - oldest) <= oldest - key:
            assign(out[slot, 0], out[before, 0])
            for step in range(oldest + 1, reached + 1):
                toggle(out[slot, 0], out[before, newest - step + 1])
            return min(reached, oldest) + 1
    assign(out[slot, 0], keys[places[key, game]])
    return key + 1


@njit
def assign(to: Any, source: Any) -> None:
    """Copy planes (B, bytes)."""
    for b in range(to.shape[0]):
        for i in range(to.shape[1]):
            to[b, i] = source[b, i]


@njit
def toggle(board: Any, by: Any) -> None:
    """XOR planes (B, bytes) with others."""
    for b in range(board.shape[0]):
        for i in range(board.shape[1]):
            board[b, i] ^= by[b, i]


@njit
def change(board: Any, cells: Any, codes: Any, first: int, count: int) -> None:
    """Write the codes of ``count`` cells into planes (B, bytes)."""
    for i in range(first, first + count):
        byte, bit = cells[i] >> 3, cells[i] & 7
        for b in range(board.shape[0]):
            board[b, byte] = (board[b, byte] & ~(1 << bit)) | (((codes[i] >> b) & 1) << bit)


@njit
def change_and_record(board: Any, record: Any, cells: Any, codes: Any, first: int, count: int) -> None:
    """Write the codes of ``count`` cells into planes, and toggle the bits that changed in ``record``."""
    for i in range(first, first + count):
        byte, bit = cells[i] >> 3, cells[i] & 7
        for b in range(board.shape[0]):
            flipped = ((board[b, byte] >> bit) ^ (codes[i] >> b)) & 1
            board[b, byte] ^= flipped << bit
            record[b, byte] ^= flipped << bit
