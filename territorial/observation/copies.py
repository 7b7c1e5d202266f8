"""Copies of what is observed: made within a step, game by game, while what is copied lies in the caches."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import ONE, ZERO, njit
from territorial.jit.lines import aligned_zeros, all_is_written, put_past_caches, stream_entry
from territorial.jit.simd import EIGHT, at, eight, fetch, no_cells
from territorial.observation.layout import ObsLayout
from territorial.observation.tables import Buffers, Observations, planes_of

WORD_BYTES = 8
BOARDS, PLAYERS, BORDERS, GLOBALS = range(4)
"""Entries of addresses, int64 (4,): where each array begins."""


class Copies(NamedTuple):
    """What all agents of a game see, of E games; arrays are as in ``tables.Observations``."""

    planes: npt.NDArray[np.uint8]  # (E, F, B, H, ceil(W/8))
    players: npt.NDArray[np.float32]  # (E, P, columns)
    borders: npt.NDArray[np.float32]  # (E, columns, P+1, P+1)
    globals: npt.NDArray[np.float32]  # (E, columns)


def allocate_copies(buffers: Buffers, layout: ObsLayout) -> Copies:
    """Return new arrays for copies of ``buffers``; what is in them is not defined."""
    return Copies(
        planes_of(aligned_zeros(buffers.boards.shape, np.uint64, allocate=np.empty), layout),
        np.empty_like(buffers.players),
        np.empty_like(buffers.borders),
        np.empty_like(buffers.globals),
    )


def copy_games(seen: Observations, copies: Copies, games: npt.NDArray[np.intp]) -> None:
    """Bring the copies of ``games`` up to date, which have changed since the step."""
    for name, array in copies._asdict().items():
        array[games] = getattr(seen, name)[games]


def addresses_of(copies: Copies | None) -> list[int]:
    """Return where ``copy_out`` finds the arrays of ``copies``, which must live until it has run.

    None: nothing is to be copied.
    """
    if copies is None:
        return [0] * len(Copies._fields)
    return [array.__array_interface__["data"][0] for array in copies]


@njit
def copy_out(buffers: Buffers, addresses: Any, k: int) -> None:
    """Copy entry ``k`` of what is observed to where ``addresses`` say; nowhere if they are 0."""
    if addresses[BOARDS] == 0:
        return
    boards = buffers.boards[k]
    copy_boards(boards, buffers.history[k], addresses[BOARDS] + WORD_BYTES * boards.size * k)
    stream_entry(buffers.players, k, addresses[PLAYERS])
    stream_entry(buffers.borders, k, addresses[BORDERS])
    stream_entry(buffers.globals, k, addresses[GLOBALS])
    all_is_written()


@njit
def copy_boards(boards: Any, history: Any, address: int) -> None:
    """Copy a stack of boards, uint64 (F, B, rows, S), to ``address``.

    Of the XORs with older boards only those bands are read that may not be zero. While one band is written,
    that of the next plane is fetched: processors cannot foresee which ones are read.
    """
    frames, planes, rows, strips = boards.shape
    place, words = 0, rows * strips
    for plane in range(frames * planes):
        for band in range(rows // EIGHT):
            is_read = has_cells(history, plane, planes, band)
            is_next = (plane + 1 < frames * planes) and has_cells(history, plane + 1, planes, band)
            for _ in range(strips):
                if is_next:
                    fetch(boards, place + words)
                put_past_caches(address + WORD_BYTES * place, eight(boards, place) if is_read else no_cells())
                place += EIGHT


@njit
def has_cells(history: Any, plane: int, planes: int, band: int) -> bool:
    """Return whether a band of plane number ``plane``, counted through all frames, may not be zero."""
    word = at(history, plane * history.shape[2] + (band >> 6))
    return plane < planes or (word >> np.uint64(band & 63)) & ONE != ZERO
