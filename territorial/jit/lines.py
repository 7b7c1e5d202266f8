"""Lines of the processor's caches: arrays that begin where one does, and writing past the caches.

What lies across two lines costs as much as both. To write a line in the ordinary way, a processor reads it
first, and gives up another line of its caches. Who writes far more than the caches hold, and does not read it
soon, does better without. Memory is then named by its address, and nothing is bounds-checked. With
``NUMBA_DISABLE_JIT=1`` it is written in the ordinary way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import JIT_ENABLED, kernel, njit

LINE = 64
"""Bytes of a line: eight words, and one register of AVX-512."""
LARGE = 2**18
"""Bytes of an array that ``copy_of`` writes past the caches."""

if JIT_ENABLED:
    import numba
    from llvmlite import ir
    from numba.core import cgutils
    from numba.extending import intrinsic

    from territorial.jit.simd import EIGHT_WORDS, VECTOR, pointer_in

    BYTES = ir.IntType(8).as_pointer()
    NUMBER = ir.IntType(64)

    def _put_line(builder: Any, words: Any, pointer: Any) -> None:
        hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        builder.store(words, pointer, align=LINE).set_metadata("nontemporal", hint)

    @intrinsic
    def put_past_caches(_context: Any, address: Any, words: Any) -> Any:
        """Write eight words to ``address``, where a line begins."""

        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            _put_line(builder, args[1], builder.inttoptr(args[0], VECTOR.as_pointer()))
            return context.get_dummy_value()

        return numba.types.void(numba.types.int64, EIGHT_WORDS), generate

    @intrinsic
    def _stream(_context: Any, array: Any, first: Any, count: Any, address: Any) -> Any:
        """Copy ``count`` entries from entry ``first`` on to where they lie in an array at ``address``.

        Whole lines of the copy are written past the caches.
        """
        width = array.dtype.bitwidth // 8

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            entries, first, count, address = args
            size = builder.mul(count, NUMBER(width))
            source = pointer_in(context, builder, signature.args[0], entries, first)
            source = builder.bitcast(source, BYTES)
            start = builder.add(address, builder.mul(first, NUMBER(width)))
            target = builder.inttoptr(start, BYTES)
            head = builder.and_(builder.neg(start), NUMBER(LINE - 1))
            head = builder.select(builder.icmp_unsigned("<", head, size), head, size)
            cgutils.raw_memcpy(builder, target, source, head, 1)
            lines = builder.udiv(builder.sub(size, head), NUMBER(LINE))
            to, of = (
                builder.bitcast(builder.gep(one, [head]), VECTOR.as_pointer()) for one in (target, source)
            )
            with cgutils.for_range(builder, lines) as loop:
                words = builder.load(builder.gep(of, [loop.index]), align=1)
                _put_line(builder, words, builder.gep(to, [loop.index]))
            done = builder.add(head, builder.mul(lines, NUMBER(LINE)))
            rest = builder.sub(size, done)
            cgutils.raw_memcpy(builder, builder.gep(target, [done]), builder.gep(source, [done]), rest, 1)
            return context.get_dummy_value()

        return numba.types.void(array, numba.types.intp, numba.types.intp, numba.types.int64), generate

    @intrinsic
    def all_is_written(_context: Any) -> Any:
        """Wait until what was written past the caches is where other threads find it."""

        def generate(context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return numba.types.void(), generate

else:

    def put_past_caches(address: int, words: Any) -> None:
        """Write eight words to ``address``."""
        ctypes.memmove(address, words.ctypes.data, words.nbytes)

    def _stream(array: Any, first: int, count: int, address: int) -> None:
        """Copy ``count`` entries from entry ``first`` on to where they lie in an array at ``address``."""
        width = array.itemsize
        ctypes.memmove(address + first * width, array.ctypes.data + first * width, count * width)

    def all_is_written() -> None:
        """There is nothing to wait for."""


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


def copy_of(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of an array in C order; a large one is written past the caches."""
    if array.nbytes < LARGE:
        return array.copy()
    copy = np.empty_like(array)
    flat = array.reshape(-1).view(np.uint8)
    flat.flags.writeable = False  # always: a kernel is compiled for arrays of one kind
    stream_bytes(flat, copy.__array_interface__["data"][0])
    return copy


@kernel
def stream_bytes(array: Any, address: int) -> None:
    """Copy bytes, uint8 (N,), to ``address``, past the caches."""
    _stream(array, 0, len(array), address)
    all_is_written()


@njit
def stream_entry(array: Any, k: int, address: int) -> None:
    """Copy ``array[k]`` into the array of the same shape at ``address``, past the caches."""
    size = array[k].size
    _stream(array, k * size, size, address)
