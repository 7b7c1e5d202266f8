"""Cache lines: aligned arrays, and writes past the caches.

What lies across two lines costs as much as both. To write a line in the ordinary way, a processor reads it
first, and gives up another line of its caches. Who writes far more than the caches hold, and does not read it
soon, does better without. Memory is then named by its address, and nothing is bounds-checked. With
``NUMBA_DISABLE_JIT=1`` it is written in the ordinary way.
"""

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import njit

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
