"""``FrameStore``: boards of many games and steps as key frames and deltas.

A block has some successive steps of all games; boards are built from it again.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.validation import check_type, whole_number
from territorial.decode.table_store import checked_places
from territorial.files.arrays import WritableArrays
from territorial.jit.decorators import kernel, njit
from territorial.observation.action_masks import read_only
from territorial.observation.layout import MAX_FRAMES, NEW_GAME, NOT_LISTED, ObsLayout, array_called

STORED = {
    name: np.dtype(array_called(name).dtype)
    for name in ("planes", "delta_index", "delta_code", "delta_count")
}
"""What is read of observations, with its dtype."""
KEY_FRAME = -1
"""The count of a key frame in a block, of a new game or not."""
AGE_LIMIT = MAX_FRAMES - 1
"""An age that no lookup exceeds."""
CUT = 128
"""Added to the age of a game that was not seen from its beginning."""


class FrameStore:
    """Exact store of the boards of E games, step after step, in about the bytes of their changes.

    Args:
        layout: of the observations to be stored, with at least one frame.
        num_games: E.
        key_every: N, the longest row of deltas, in steps, that a lookup has to go through.
        capacity: steps to keep; None: no limit.

    Steps are kept in blocks of up to N, each beginning with a key frame of every game. Beyond the
    ``capacity`` the oldest steps go. The steps are numbered 0, 1, 2 ... and numbers are never used again:
    there are the steps from ``first`` up to, but without, ``end``.

    Pickling and copying keep everything. Threads must not append while others use the store; any number of
    them may look things up.

    """

    def __init__(
        self,
        layout: ObsLayout,
        num_games: int,
        *,
        key_every: int = 64,
        capacity: int | None = None,
    ) -> None:
        check_type("layout", layout, ObsLayout, "a territorial.observation.layout.ObsLayout")
        if layout.frames < 1:
            raise ValueError(
                "layout has frames=0, so there are no boards to store; frames must be at least 1"
            )
        self.layout = layout
        self.num_games = whole_number("num_games", num_games, 1)
        self.key_every = whole_number("key_every", key_every, 1)
        self.capacity = None if capacity is None else whole_number("capacity", capacity, 1)
        self._sealed: list[Block] = []
        # The steps of the block that is not full yet, end to end where something has been looked up.
        self._open: list[Block] = []
        self._end = 0
        self._ages = np.zeros(self.num_games, np.uint8)  # of the newest step, as in a block
        self._is_cut = True
        self._shapes = {name: (self.num_games, *layout.shape(name)) for name in STORED}
        self._board = layout.num_planes, layout.height * layout.row_bytes

    # ---- what is there ----------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The oldest step that is still there; ``end`` if there is none."""
        oldest = next((block.begin for block in (*self._sealed, *self._open)), self._end)
        return oldest if self.capacity is None else max(oldest, self._end - self.capacity)

    @property
    def end(self) -> int:
        """The number that the next step gets."""
        return self._end

    def __len__(self) -> int:
        """Return how many steps are there; each is one of all games."""
        return self.end - self.first

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays of the store."""
        return sum(block.nbytes for block in (*self._sealed, *self._open)) + self._ages.nbytes

    def __repr__(self) -> str:
        layout = self.layout
        return (
            f"FrameStore({self.num_games} games, {layout.height} x {layout.width}, {layout.num_players} "
            f"players, steps from {self.first} up to {self.end}, {self.nbytes} bytes)"
        )

    # ---- storing ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Say that the next step does not follow the last one, as steps were left out.

        What is stored stays; no stack reaches across. Not needed after ``VecGame.reset``.
        """
        self._is_cut = True

    def append(self, observations: Any) -> int:
        """Store one step of all games and return its number.

        ``observations``: what ``VecGame.reset`` or ``step`` returned; ``planes[:, 0]`` and the deltas are
        copied. A game whose ``delta_count`` is NEW_GAME begins a new stack. At the first step of
        the store and after ``begin`` all others have no earlier frames, so that their stacks of more
        than one begin some steps later.

        ValueError and TypeError name what does not fit, and nothing is stored.
        """
        boards, delta = self._check_observations(observations)
        is_new = delta.counts == NEW_GAME
        if self._is_cut:
            ages = np.where(is_new, 0, CUT)
        else:
            older = np.minimum(self._ages % CUT + 1, AGE_LIMIT) | (self._ages & CUT)
            ages = np.where(is_new, 0, older)
        # A delta that takes more bytes than a key frame is not kept.
        most = math.prod(self._board) // (np.dtype(cell_dtype(self.layout)).itemsize + 1)
        counts = np.where((delta.counts < 0) | (delta.counts > most), KEY_FRAME, delta.counts)

        if self._open and (self._is_cut or self._end - self._open[0].begin == self.key_every):
            self._sealed, self._open = self._blocks(), []
        if not self._open:
            counts = np.full(self.num_games, KEY_FRAME, np.int32)
        before = self._open[-1].ends if self._open else (0, 0)
        kept = delta._replace(counts=counts)
        step = Block.of_step(self._end, boards, kept, ages.astype(np.uint8), self.layout, before)
        self._open = [*self._open, step]
        self._end += 1
        self._ages, self._is_cut = step.ages[0], False
        while self._sealed and self._sealed[0].end <= self.first:
            self._sealed = self._sealed[1:]
        return self._end - 1

    def since(self, step: int) -> FrameStore:
        """Return a store of its own that has the steps from ``step`` on, under the same numbers.

        It can be appended to, and takes about the bytes of what changed from there on and one key frame a
        game. ``step``: one that is there, or ``end``; for stacks of F frames at a step begin F - 1 earlier.
        """
        step = whole_number("step", step, self.first, self.end)
        store = copy.copy(self)
        blocks = [block for block in self._blocks() if block.end > step]
        if blocks and blocks[0].begin < step:
            boards = self.planes(np.arange(self.num_games), np.full(self.num_games, step), 1)
            blocks[0] = blocks[0].since(step, boards.reshape(self.num_games, *self._board))
        full = len(blocks) - 1 if self._open else len(blocks)
        store._sealed, store._open = blocks[:full], blocks[full:]
        return store

    # ---- looking up -------------------------------------------------------------------------------

    def planes(
        self, games: npt.ArrayLike, times: npt.ArrayLike, frames: int | None = None
    ) -> npt.NDArray[np.uint8]:
        """Return a new uint8 (n, F, B, H, ceil(W/8)): the stacks that an observation of F frames had.

        ``games``: (n,) whole numbers from 0 to E - 1. ``times``: (n,) numbers of steps. Any order, and any
        pair more than once. ``frames``: F; None: as many as the layout has.

        IndexError for games and steps that are not there, also where an older frame of the stack is not.
        """
        frames = self._check_frames(frames)
        games, times = checked_places(games, times, self)
        blocks = self._blocks()
        newest_block = _find(blocks, times)
        oldest, has_frames = self._oldest(blocks, newest_block, games, times, frames)
        if not has_frames.all():
            i = int(has_frames.argmin())
            raise IndexError(
                f"times[{i}] is {times[i]}; of game {games[i]} the store lacks some of the "
                f"{frames} frames up to then. It holds the steps from {self.first} up to "
                f"{self.end}, and begin() ends a stack; sample() draws complete stacks only"
            )
        layout = self.layout
        stacks = np.zeros((len(games), frames, *self._board), np.uint8)
        oldest_block = _find(blocks, oldest)
        # A stack that lies in several blocks is rebuilt in as many pieces, the oldest first.
        pieces = newest_block - oldest_block + 1
        slot = np.repeat(np.arange(len(games)), pieces)
        block = np.repeat(oldest_block + pieces - np.cumsum(pieces), pieces) + np.arange(len(slot))
        order = np.lexsort((times[slot], games[slot], block))
        slot, block = slot[order], block[order]
        wanted = np.empty((len(slot), 4), np.int64)
        wanted[:, SLOT], wanted[:, GAME] = slot, games[slot]
        wanted[:, OLDEST], wanted[:, NEWEST] = oldest[slot], times[slot]
        bounds = np.flatnonzero(np.diff(block, prepend=-1, append=len(blocks)))
        for first, end in pairwise(bounds.tolist()):
            part = blocks[block[first]]
            own = wanted[first:end]
            own[:, [OLDEST, NEWEST]] -= part.begin
            rebuild(part.counts, part.places, part.keys, part.cells, part.codes, own, stacks)
        return stacks.reshape(len(games), frames, layout.num_planes, layout.height, layout.row_bytes)

    def sample(
        self, n: int, rng: np.random.Generator, frames: int | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return games and times, int64 (n,) each, drawn from all pairs that have their ``frames`` frames.

        All are equally likely, and may be drawn more than once. ``frames``: as for ``planes``. ValueError
        if there are none.
        """
        n, frames = whole_number("n", n, 0), self._check_frames(frames)
        check_type("rng", rng, np.random.Generator, "a numpy.random.Generator")
        blocks = self._blocks()
        if not self._has_any(blocks, frames):
            raise ValueError(f"no step with all of its {frames} frames can be drawn from {self!r}")
        drawn = [np.empty((0, 2), np.int64)]
        missing = n
        while missing > 0:  # what is not whole lies at the few edges only
            games = rng.integers(self.num_games, size=n)
            times = rng.integers(self.first, self.end, size=n)
            _, has_frames = self._oldest(blocks, _find(blocks, times), games, times, frames)
            drawn.append(np.stack([games, times], axis=1)[has_frames][:missing])
            missing -= len(drawn[-1])
        games, times = np.concatenate(drawn).T.copy()
        return games, times

    def _blocks(self) -> list[Block]:
        if len(self._open) > 1:
            self._open = [_end_to_end(self._open)]
        return [*self._sealed, *self._open]

    def _has_any(self, blocks: list[Block], frames: int) -> bool:
        """Return whether any step of any game has so many frames: if so, one that ends a block has."""
        games = np.arange(self.num_games)
        for number in reversed(range(len(blocks))):
            times = np.full(self.num_games, blocks[number].end - 1)
            where = np.full(self.num_games, number)
            if self._oldest(blocks, where, games, times, frames)[1].any():
                return True
        return False

    def _oldest(
        self,
        blocks: list[Block],
        where: npt.NDArray[np.int64],
        games: npt.NDArray[np.int64],
        times: npt.NDArray[np.int64],
        frames: int,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return the steps of the oldest frames of stacks, (n,), and which stacks are there, bool (n,).

        Stacks end at ``times`` in the blocks number ``where``. At the beginning of a game they are shorter.
        """
        if frames == 1:
            return times, np.ones(len(times), bool)
        at = zip(where.tolist(), games.tolist(), times.tolist(), strict=True)
        marks = np.array([blocks[b].ages[t - blocks[b].begin, k] for b, k, t in at], np.int64)
        ages = np.minimum(marks % CUT, frames - 1)
        oldest = times - ages
        return oldest, (oldest >= self.first) & ((marks < CUT) | (ages == frames - 1))

    # ---- checks -----------------------------------------------------------------------------------

    def _check_observations(self, observations: Any) -> tuple[npt.NDArray[np.uint8], Delta]:
        """Return the newest boards and the deltas of observations."""
        arrays: dict[str, Any] = {name: getattr(observations, name, None) for name in STORED}
        for name, array in arrays.items():
            shape = self._shapes[name]
            if not isinstance(array, np.ndarray) or array.dtype != STORED[name]:
                what = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise TypeError(
                    f"observations.{name} is {what}; it must be an array of {STORED[name]}, as "
                    f"VecGame.reset() and step() return it"
                )
            if name == "planes" and array.ndim == 5 and array.shape[1] > 0:
                shape = (shape[0], array.shape[1], *shape[2:])  # only the newest frame is taken
            if array.shape != shape:
                raise ValueError(
                    f"observations.{name} has the shape {array.shape}; for {self.num_games} games of the "
                    f"layout it must be {shape}"
                )
        planes, *rest = arrays.values()
        delta = Delta(*(read_only(array) for array in rest))
        self._check_delta(delta)
        newest: npt.NDArray[np.uint8] = planes[:, 0]
        return newest, delta

    def _check_delta(self, delta: Delta) -> None:
        layout = self.layout
        is_wrong = (delta.counts < NOT_LISTED) | (delta.counts > layout.delta_capacity)
        if is_wrong.any():
            k = int(is_wrong.argmax())
            raise ValueError(
                f"observations.delta_count[{k}] is {delta.counts[k]}; it must be from {NOT_LISTED} to "
                f"{layout.delta_capacity}"
            )
        cells = layout.height * layout.width
        bad = find_bad_change(delta.indices, delta.codes, delta.counts, cells, layout.blocked_code)
        if bad >= 0:
            k, i = divmod(bad, layout.delta_capacity)
            raise ValueError(
                f"observations.delta_index[{k}, {i}] is {delta.indices[k, i]} and its delta_code "
                f"{delta.codes[k, i]}; they must be from 0 to {cells - 1} and from 0 to {layout.blocked_code}"
            )

    def _check_frames(self, frames: int | None) -> int:
        return self.layout.frames if frames is None else whole_number("frames", frames, 1, MAX_FRAMES)


def _find(blocks: list[Block], times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return in which of the blocks each step lies, (n,)."""
    begins = np.array([block.begin for block in blocks])
    return np.searchsorted(begins, times, side="right") - 1


# ---- blocks --------------------------------------------------------------------------------------


def cell_dtype(layout: ObsLayout) -> type[np.unsignedinteger[Any]]:
    """Return the narrowest dtype for the number of a bit in one bit plane."""
    return np.uint16 if layout.height * layout.row_bytes * 8 <= 1 << 16 else np.uint32


@dataclass
class Block(WritableArrays):
    """The steps from ``begin`` up to ``end`` of E games; a full block begins with key frames."""

    begin: int
    ends: tuple[int, int]  # key frames and cells up to its last step, since the last full block
    counts: npt.NDArray[np.int32]  # (steps, E): cells in the delta, -1 for a key frame
    places: npt.NDArray[np.int64]  # (steps, E): which key frame, or which is the first cell of the delta
    # How many steps before this one are known to be of the same game, at most AGE_LIMIT; plus CUT where the
    # game may have begun before those:
    ages: npt.NDArray[np.uint8]  # (steps, E)
    keys: npt.NDArray[np.uint8]  # (keys, B, H * ceil(W/8)): whole boards in bit planes
    cells: npt.NDArray[np.unsignedinteger[Any]]  # (cells,): bits in a bit plane, row * 8 * ceil(W/8) + column
    codes: npt.NDArray[np.uint8]  # (cells,): owner codes

    @classmethod
    def of_step(
        cls,
        begin: int,
        boards: npt.NDArray[np.uint8],
        delta: Delta,
        ages: npt.NDArray[np.uint8],
        layout: ObsLayout,
        before: tuple[int, int],
    ) -> Block:
        """Return a block of one step.

        Kept are the boards, uint8 (E, B, H, ceil(W/8)), of games with a key frame, and the deltas of the
        others. ``ages``: (E,). ``before``: how many key frames and cells come before.
        """
        keys = boards[delta.counts == KEY_FRAME].reshape(-1, boards.shape[1], boards[0, 0].size)
        cells = np.empty(int(delta.counts.sum()) - KEY_FRAME * len(keys), cell_dtype(layout))
        codes, places = np.empty(len(cells), np.uint8), np.empty((1, len(ages)), np.int64)
        copy_deltas(*delta, layout.width, 8 * layout.row_bytes, *before, places[0], cells, codes)
        ends = before[0] + len(keys), before[1] + len(cells)
        return cls(begin, ends, delta.counts[None], places, ages[None], keys, cells, codes)

    @property
    def end(self) -> int:
        """The step after the last."""
        return self.begin + len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in vars(self).values() if isinstance(array, np.ndarray))

    def since(self, step: int, boards: npt.NDArray[np.uint8]) -> Block:
        """Return a copy that begins with ``step``; ``boards``: uint8 (E, B, H * ceil(W/8)) at that step."""
        start, num_games = step - self.begin, len(boards)
        before, counts = self.counts[: start + 1], self.counts[start:].copy()
        old_keys, old_cells = int((before == KEY_FRAME).sum()), int(before.clip(min=0).sum())
        places = self.places[start:] - np.where(counts == KEY_FRAME, old_keys - num_games, old_cells)
        counts[0], places[0] = KEY_FRAME, np.arange(num_games)
        keys = np.concatenate([boards, self.keys[old_keys:]])
        cells, codes = (array[old_cells:].copy() for array in (self.cells, self.codes))
        ends = len(keys), len(cells)
        return Block(step, ends, counts, places, self.ages[start:].copy(), keys, cells, codes)


def _end_to_end(steps: Sequence[Block]) -> Block:
    """Return steps, of which one may be several already, as one block."""
    names = ("counts", "places", "ages", "keys", "cells", "codes")
    joined = (np.concatenate([getattr(step, name) for step in steps]) for name in names)
    return Block(steps[0].begin, steps[-1].ends, *joined)


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
    first_cell: int,
    places: Any,
    cells: Any,
    new_codes: Any,
) -> None:
    """Write deltas into ``cells`` and ``new_codes``, and their places in the block into ``places``.

    Of row * width + column becomes row * row_bits + column, the number of the bit: what is looked up
    often then has no division. Key frames are only counted.
    """
    n = 0
    for k in range(len(counts)):
        if counts[k] == KEY_FRAME:
            places[k] = next_key
            next_key += 1
        else:
            places[k] = first_cell + n
            for i in range(counts[k]):
                row = indices[k, i] // width
                cells[n] = row * row_bits + (indices[k, i] - row * width)
                new_codes[n] = codes[k, i]
                n += 1


SLOT, GAME, OLDEST, NEWEST = range(4)
"""The columns of what ``rebuild`` is asked for."""


@kernel
def rebuild(counts: Any, places: Any, keys: Any, cells: Any, codes: Any, wanted: Any, out: Any) -> None:
    """Bring stacks up to the end of a block, or to their newest frames if these lie in it.

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
