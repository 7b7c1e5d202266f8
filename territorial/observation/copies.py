"""Copies of observations, made game by game within a step.

Memory that nobody has a view of any more is lent again. Of its boards, only those bands are written that have
changed since it was written last: a part, where a new copy is written whole.
"""

import weakref
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.game.board import block_of
from territorial.jit.decorators import ONE, ZERO, kernel, njit
from territorial.jit.simd import (
    EIGHT,
    aligned_zeros,
    at,
    eight,
    no_cells,
    put_at,
    put_past_caches,
    stream_entry,
)
from territorial.observation.layout import ObsLayout
from territorial.observation.tables import Buffers, planes_of

WORD_BYTES = 8
NUM_LENT = 3
"""Copies whose memory is used again: a loop holds the last one while the next is made, and often one more."""
BOARDS, PLAYERS, BORDERS, GLOBALS, NUMBER = range(5)
"""Entries of ``Copies.target``: the addresses of the arrays, and which copy it is."""


class Copies(NamedTuple):
    """Observations that all agents of a game share, of E games; arrays are as in ``tables.Observations``."""

    planes: npt.NDArray[np.uint8]  # (E, F, B, H, ceil(W/8)), read-only
    players: npt.NDArray[np.float32]  # (E, P, columns)
    borders: npt.NDArray[np.float32]  # (E, columns, P+1, P+1)
    globals: npt.NDArray[np.float32]  # (E, columns)
    target: npt.NDArray[np.int64]  # (5,)


class Lending(NamedTuple):
    """Copies as kernels see them."""

    target: npt.NDArray[np.int64]  # (5,) that of the copy to write; 0 if there is none
    outdated: npt.NDArray[
        np.uint64
    ]  # (NUM_LENT + 1, E, F, B, groups) bands to write; the last: of new copies


class Memory(NamedTuple):
    """The memory of copies."""

    views: list[memoryview]  # of boards, read-only, players, borders and globals
    target: npt.NDArray[np.int64]  # see ``Copies``


class Loans:
    """The memory of copies of ``buffers`` with this ``layout``."""

    def __init__(self, buffers: Buffers, layout: ObsLayout) -> None:
        self._copied = buffers.boards, buffers.players, buffers.borders, buffers.globals
        self._layout = layout
        outdated = np.zeros((NUM_LENT + 1, *buffers.history.shape), np.uint64)
        self.lending = Lending(np.zeros(NUMBER + 1, np.int64), outdated)
        self._memory: list[Memory | None] = [None] * NUM_LENT
        self._lent: list[list[weakref.ref[Any]]] = [[] for _ in range(NUM_LENT)]

    def lend(self) -> Copies:
        """Return arrays for a step to write, with anything in them. Nobody else may write to the planes."""
        for number, lent in enumerate(self._lent):
            if all(one() is None for one in lent):
                self._memory[number] = memory = self._memory[number] or self._allocate(number)
                # A view of a view holds on to the first array whose memory is not that of an array.
                arrays = [np.asarray(one) for one in memory.views]
                self._lent[number] = [weakref.ref(one) for one in arrays]
                return self._copies(arrays, memory.target)
        memory = self._allocate(NUM_LENT)
        return self._copies([np.asarray(one) for one in memory.views], memory.target)

    def _allocate(self, number: int) -> Memory:
        self.lending.outdated[number] = ~ZERO
        arrays = [aligned_zeros(one.shape, one.dtype, allocate=np.empty) for one in self._copied]
        boards, *tables = [one.data for one in arrays]
        target = np.array([*(one.__array_interface__["data"][0] for one in arrays), number])
        return Memory([boards.toreadonly(), *tables], target)

    def _copies(self, arrays: list[Any], target: npt.NDArray[np.int64]) -> Copies:
        boards, players, borders, of_game = arrays
        return Copies(planes_of(boards, self._layout), players, borders, of_game, target)


@njit
def copy_out(buffers: Buffers, lending: Lending, k: int) -> None:
    """Copy the observation of game ``k`` to the target of ``lending``, if there is one."""
    target, outdated = lending.target, lending.outdated
    if target[BOARDS] == 0:
        return
    boards, history = buffers.boards[k], buffers.history[k]
    for i in range(history[0].size):
        for number in range(len(outdated)):
            put_at(outdated[number, k], i, at(outdated[number, k], i) | at(history, i))
        put_at(history, i, ZERO)
    copy_boards(boards, history, outdated[target[NUMBER], k], target[BOARDS] + WORD_BYTES * boards.size * k)
    stream_entry(buffers.players, k, target[PLAYERS])
    stream_entry(buffers.borders, k, target[BORDERS])
    stream_entry(buffers.globals, k, target[GLOBALS])


@njit
def copy_boards(boards: Any, history: Any, outdated: Any, address: int) -> None:
    """Bring a copy of a stack of boards, uint64 (F, B, rows, S), at ``address`` up to date.

    Written are the bands of the board that are ``outdated``, and those of the XORs with older boards that may
    not be zero, or may not have been when the copy was written last.
    """
    frames, planes, rows, strips = boards.shape
    groups = history.shape[2]
    for plane in range(frames * planes):
        for group in range(groups):
            shown = at(history, plane * groups + group)
            bands = at(outdated, plane * groups + group) | shown
            put_at(outdated, plane * groups + group, shown)
            while bands != ZERO and block_of(group, bands) < rows // EIGHT:
                band = bands & (~bands + ONE)
                is_zero = plane >= planes and band & shown == ZERO
                place = strips * (plane * rows + EIGHT * block_of(group, bands))
                for i in range(place, place + EIGHT * strips, EIGHT):
                    put_past_caches(address + WORD_BYTES * i, no_cells() if is_zero else eight(boards, i))
                bands ^= band


@kernel
def copy_game(buffers: Buffers, lending: Lending, k: int) -> None:
    """Bring game ``k`` of the target up to date, which has changed since the step."""
    copy_out(buffers, lending, k)
