"""Lines of the processor's caches: arrays that begin where one does, and writing past the caches.

What lies across two lines costs as much as both. To write a line in the ordinary way, a processor reads it
first, and gives up another line of its caches. Who writes far more than the caches hold, and does not read it
soon, does better without. Memory is then named by its address, and nothing is bounds-checked. With
``NUMBA_DISABLE_JIT=1`` it is written in the ordinary way.
"""

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils

from territorial.jit.decorators import Memory, machine_code, njit
from territorial.jit.simd import EIGHT_WORDS, VECTOR, place_in

LINE = 64
"""Bytes of a line: eight words, and one register of AVX-512."""

BYTES = ir.IntType(8).as_pointer()
NUMBER = ir.IntType(64)
INT64, INTP = numba.types.int64, numba.types.intp


def put_past_caches(address: int, words: Any) -> None:
    """Write eight words to ``address``, where a line begins."""
    ctypes.memmove(int(address), words.ctypes.data, words.nbytes)


def _stream(array: Any, first: int, count: int, address: int) -> None:
    """Copy ``count`` entries from entry ``first`` on to where they lie in an array at ``address``.

    Whole lines of the copy are written past the caches.
    """
    width = array.itemsize
    ctypes.memmove(int(address + first * width), array.ctypes.data + first * width, count * width)


def all_is_written() -> None:
    """Wait until what was written past the caches is where other threads find it."""


def _put_line(builder: Any, words: Any, pointer: Any) -> None:
    hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
    builder.store(words, pointer, align=LINE).set_metadata("nontemporal", hint)


@machine_code(put_past_caches, numba.types.void, INT64, EIGHT_WORDS)
def _put_past_caches(builder: Any, address: Any, words: Any) -> None:
    _put_line(builder, words, builder.inttoptr(address, VECTOR.as_pointer()))


@machine_code(_stream, numba.types.void, numba.types.Array, INTP, INTP, INT64)
def _stream_lines(builder: Any, array: Memory, first: Any, count: Any, address: Any) -> None:
    width = array.kind.dtype.bitwidth // 8
    size = builder.mul(count, NUMBER(width))
    source = builder.bitcast(place_in(builder, array, first), BYTES)
    start = builder.add(address, builder.mul(first, NUMBER(width)))
    target = builder.inttoptr(start, BYTES)
    head = builder.and_(builder.neg(start), NUMBER(LINE - 1))
    head = builder.select(builder.icmp_unsigned("<", head, size), head, size)
    cgutils.raw_memcpy(builder, target, source, head, 1)
    lines = builder.udiv(builder.sub(size, head), NUMBER(LINE))
    to, of = (builder.bitcast(builder.gep(one, [head]), VECTOR.as_pointer()) for one in (target, source))
    with cgutils.for_range(builder, lines) as loop:
        words = builder.load(builder.gep(of, [loop.index]), align=1)
        _put_line(builder, words, builder.gep(to, [loop.index]))
    done = builder.add(head, builder.mul(lines, NUMBER(LINE)))
    rest = builder.sub(size, done)
    cgutils.raw_memcpy(builder, builder.gep(target, [done]), builder.gep(source, [done]), rest, 1)


@machine_code(all_is_written, numba.types.void)
def _all_is_written(builder: Any) -> None:
    builder.fence("seq_cst")


def aligned_zeros(
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    *,
    starts_at: int = 0,
    allocate: Callable[..., npt.NDArray[np.uint8]] = np.zeros,
) -> npt.NDArray[Any]:
    """Return zeros of ``shape``, whose entry ``starts_at`` (counted flat) is the first of a line.

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
    _stream(array, k * size, size, address)
