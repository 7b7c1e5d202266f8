"""SIMD operations on eight uint64 words, for loops over a board.

A board is stored as words, uint64[strip][row]; ``eight(words, place)`` are eight rows of a strip, ``place``
being where they begin, counted through all strips. They take ``&``, ``|``, ``^``, ``~``, and with one word
for all of them ``&``, ``|``, ``^``, ``<<`` and ``>>``. Arrays are in C order. Places are not negative, and
nothing looks whether they are: to do so, and to find places from strips and rows, would take longer than what
is done there.
With AVX-512 such a value is one register; elsewhere the compiler makes two or four of it.

Compilers find such loops by themselves, but make them for boards of a thousand rows: with tests
whether arrays overlap, four values at a time, and one word at a time for the rest. A border has
twenty rows, so the rest was all there was.

With ``NUMBA_DISABLE_JIT=1`` the eight words are a numpy array.
"""

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import njit

EIGHT = 8


def at(array: Any, i: int) -> Any:
    """Return entry ``i`` of an array, counted through all its axes; it must be within the array."""
    return array.reshape(-1)[i]


def put_at(array: Any, i: int, value: Any) -> None:
    """Write ``value`` into entry ``i`` of an array, counted through all its axes."""
    array.reshape(-1)[i] = value


def eight(words: Any, place: int) -> Any:
    """Return the eight words from entry ``place`` on, which must all be within the array."""
    return words.reshape(-1)[place : place + EIGHT].copy()


def put(words: Any, place: int, value: Any) -> None:
    """Write ``value`` into an array from entry ``place`` on, as eight words, or as 64 bytes."""
    entries = np.ascontiguousarray(value, np.uint64).view(words.dtype)
    words.reshape(-1)[place : place + len(entries)] = entries


def rows_above(value: Any, word: Any) -> Any:
    """Return the words one row further down, with ``word`` for the first."""
    return np.concatenate(([word], value[:-1]))


def rows_below(value: Any, word: Any) -> Any:
    """Return the words one row further up, with ``word`` for the last."""
    return np.concatenate((value[1:], [word]))


def no_cells() -> Any:
    """Return eight zeros."""
    return np.zeros(EIGHT, np.uint64)


def with_counts(sums: Any, cells: Any) -> Any:
    """Return ``sums`` with the number of ones in each of the words ``cells`` added."""
    return sums + np.bitwise_count(cells)


def total(sums: Any) -> int:
    """Return the sum of eight numbers."""
    return int(sums.sum())


def rows_in(cells: Any) -> Any:
    """Return which of the eight words are not zero: uint64, bit i for row r + i."""
    return np.uint64(np.packbits(cells != 0, bitorder="little")[0])


def columns_in(cells: Any) -> Any:
    """Return the columns in which any of the eight words has a cell, as a word."""
    return np.bitwise_or.reduce(cells)


@njit
def fill(array: Any, value: Any) -> None:
    """Write ``value`` into all entries of an array."""
    for i in range(array.size):
        put_at(array, i, value)


LINE = 64
"""Bytes of a line: eight words, and one register of AVX-512."""


def put_past_caches(address: int, words: Any) -> None:
    """Write eight words to ``address``, where a line begins."""
    ctypes.memmove(int(address), words.ctypes.data, words.nbytes)


def stream(array: Any, first: int, count: int, address: int) -> None:
    """Copy ``count`` entries from entry ``first`` on to where they lie in an array at ``address``.

    Whole lines of the copy are written past the caches.
    """
    width = array.itemsize
    ctypes.memmove(int(address + first * width), array.ctypes.data + first * width, count * width)


def all_is_written() -> None:
    """Wait until writes past the caches are visible to other threads."""


def aligned_zeros(
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    *,
    starts_at: int = 0,
    allocate: Callable[..., npt.NDArray[np.uint8]] = np.zeros,
) -> npt.NDArray[Any]:
    """Return zeros of ``shape`` with entry ``starts_at`` (counted flat) at the start of a line.

    ``np.zeros`` begins 16 bytes after the beginning of a line where it asks the system for memory. With
    ``np.empty`` to ``allocate``, what is in the array is not defined.
    """
    width, count = np.dtype(dtype).itemsize, prod(shape)
    memory = allocate(count * width + LINE, np.uint8)
    start = -(memory.__array_interface__["data"][0] + starts_at * width) % LINE
    return memory[start : start + count * width].view(dtype).reshape(shape)


@njit
def stream_entry(array: Any, k: int, address: int) -> None:
    """Copy ``array[k]`` into the array of the same shape at ``address``, past the caches."""
    size = array[k].size
    stream(array, k * size, size, address)
