"""Arrays that begin where a line of the cache does: what lies across two lines costs as much as both."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

LINE = 64
"""Bytes of a line: eight words, and one register of AVX-512."""


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike, *, starts_at: int = 0) -> npt.NDArray[Any]:
    """Return zeros of ``shape``, whose entry ``starts_at`` (counted flat) is the first of a line.

    ``np.zeros`` begins 16 bytes after the beginning of a line where it asks the system for memory.
    """
    return _aligned(np.zeros, shape, dtype, starts_at)


def aligned_empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of ``shape`` that begins where a line does; what is in it is not defined."""
    return _aligned(np.empty, shape, dtype, 0)


def _aligned(
    allocate: Callable[..., npt.NDArray[np.uint8]],
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    starts_at: int,
) -> npt.NDArray[Any]:
    width, count = np.dtype(dtype).itemsize, prod(shape)
    memory = allocate(count * width + LINE, np.uint8)
    start = -(memory.__array_interface__["data"][0] + starts_at * width) % LINE
    return memory[start : start + count * width].view(dtype).reshape(shape)
