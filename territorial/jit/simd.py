"""SIMD operations: what compilers do not find by themselves.

**Eight uint64 words**, for loops over a board. A board is stored as words, uint64[strip][row];
``eight(words, place)`` are eight rows of a strip, ``place`` being where they begin, counted through all
strips. They take ``&``, ``|``, ``^``, ``~``, and with one word for all of them ``&``, ``|``, ``^``, ``<<``
and ``>>``. Arrays are in C order. Places are not negative, and nothing looks whether they are: to do so,
and to find places from strips and rows, would take longer than what is done there. With AVX-512 such a
value is one register; elsewhere the compiler makes two or four of it. Compilers find such loops by
themselves, but make them for boards of a thousand rows: with tests whether arrays overlap, four values at a
time, and one word at a time for the rest. A border has twenty rows, so the rest was all there was.

**Lines of the cache**: aligned arrays, and writes past the caches. What lies across two lines costs as much
as both. To write a line in the ordinary way, a processor reads it first, and gives up another line of its
caches. Who writes far more than the caches hold, and does not read it soon, does better without.

**Sums of products**, sixteen at a time: int16 pairs and float32. Networks in the engine need those of whole
numbers, small networks on the processor those of floats. Weights lie in memory so that one instruction
takes 32 of them: for every pair of inputs, the two weights of each output side by side,
int16[pair][output][2]. Processors have had that instruction since MMX (``pmaddwd``), the newest add its
result to the sums as well; elsewhere the compiler makes several of it. Compilers find this for loops over
arrays of whole numbers only where they know all lengths and that no arrays overlap. Sums must stay within
int32. Of float32, weights lie input by input, the outputs of each side by side, as ``put_turned`` writes
them. A sum is that of its products in the order of the inputs, whatever else is computed with it: the same
row gives the same bits among any others.

Of lines and of sums, memory is named by its address, as weights may lie in a mapped file; nothing is
bounds-checked. With ``NUMBA_DISABLE_JIT=1`` the eight words and the sixteen sums are numpy arrays, lines
are written in the ordinary way, and floats are rounded otherwise.
"""

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import njit

# ---- eight words -----------------------------------------------------------------------------------

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


# ---- lines of the cache ----------------------------------------------------------------------------

LINE = 64
"""Bytes of a line: eight words, sixteen float32, and one register of AVX-512."""


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
    room = allocate(count * width + LINE, np.uint8)
    start = -(room.__array_interface__["data"][0] + starts_at * width) % LINE
    return room[start : start + count * width].view(dtype).reshape(shape)


@njit
def stream_entry(array: Any, k: int, address: int) -> None:
    """Copy ``array[k]`` into the array of the same shape at ``address``, past the caches."""
    size = array[k].size
    stream(array, k * size, size, address)


# ---- sums of products ------------------------------------------------------------------------------

SIXTEEN = 16
FLOAT_BYTES = 4
NONE = np.float32(0)
"""What stands where there is no float32."""


def memory(address: int, dtype: Any, count: int) -> Any:
    """Return ``count`` numbers from ``address`` on, as an array in their place."""
    size = np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_ubyte * (count * size)).from_address(int(address)), dtype)


def address_of(array: Any) -> int:
    """Return the address of the first entry of an array, as int64."""
    return int(array.ctypes.data)


def sums_at(address: int) -> Any:
    """Return the sixteen int32 from ``address`` on."""
    return memory(address, np.int32, SIXTEEN).copy()


def put_sums(address: int, sums: Any) -> None:
    """Write sixteen sums to ``address``, as int32."""
    memory(address, np.int32, SIXTEEN)[:] = sums


def halves_at(address: int) -> Any:
    """Return the sixteen int16 from ``address`` on."""
    return memory(address, np.int16, SIXTEEN).astype(np.int32)


def zeros() -> Any:
    """Return sixteen zeros."""
    return np.zeros(SIXTEEN, np.int32)


def larger(sums: Any, others: Any) -> Any:
    """Return the larger ones of ``sums`` and ``others``."""
    return np.maximum(sums, others)


def parts_of(sums: Any, number: int, bits: int) -> Any:
    """Return ``(sums * number) >> bits``, where products may have 64 bits."""
    return (sums.astype(np.int64) * number) >> bits


def half_at(address: int) -> int:
    """Return the int16 at ``address``."""
    return int(memory(address, np.int16, 1)[0])


def put_half(address: int, number: int) -> None:
    """Write ``number`` to ``address``, as int16."""
    memory(address, np.int16, 1)[0] = number


def number_at(address: int) -> int:
    """Return the int64 at ``address``."""
    return int(memory(address, np.int64, 1)[0])


def rounded(sums: Any, shift: int) -> Any:
    """Return ``(sums + 2 ** (shift - 1)) >> shift``; ``shift`` is 1 to 31."""
    return (sums + np.int32(1 << (shift - 1))) >> np.int32(shift)


def put_between(address: int, sums: Any, least: int, most: int) -> None:
    """Write sixteen sums to ``address`` as int16, each at least ``least`` and at most ``most``."""
    memory(address, np.int16, SIXTEEN)[:] = np.clip(sums, least, most)


def float_at(address: int) -> Any:
    """Return the float32 at ``address``."""
    return memory(address, np.float32, 1)[0]


def put_float(address: int, number: Any) -> None:
    """Write a float32 to ``address``."""
    memory(address, np.float32, 1)[0] = number


def put_turned(to: int, to_step: int, source: int, source_step: int) -> None:
    """Write the columns of sixteen rows of sixteen float32 as rows, ``_step`` bytes after each other."""
    rows = np.array([memory(source + i * source_step, np.float32, SIXTEEN) for i in range(SIXTEEN)])
    for i in range(SIXTEEN):
        memory(to + i * to_step, np.float32, SIXTEEN)[:] = rows[:, i]


# ---- blocks of sums ------------------------------------------------------------------------------


def add_products(
    rows: int,
    vectors: int,
    sums: int,
    sums_step: int,
    weights: int,
    weights_step: int,
    inputs: int,
    inputs_step: int,
    num_pairs: int,
    ahead: int,
) -> None:
    """Add the products of inputs and weights to a block of sums, ``rows`` times ``vectors`` of sixteen.

    These two are literals in kernels, and their product is at most 16: so the sums stay in registers. The
    others are addresses, and bytes from one row to the next; of weights, from one pair of inputs to the next;
    and how many pairs of inputs there are. ``ahead``: how many bytes behind the weights others lie that are
    read next, and are fetched meanwhile; the literal 0: there are none.
    """
    outputs = vectors * SIXTEEN
    table = [memory(weights + i * weights_step, np.int16, 2 * outputs) for i in range(num_pairs)]
    paired = np.array(table, np.int32).reshape(num_pairs, outputs, 2)
    for r in range(rows):
        given = memory(inputs + r * inputs_step, np.int16, 2 * num_pairs).reshape(num_pairs, 1, 2)
        memory(sums + r * sums_step, np.int32, outputs)[:] += (paired * given).sum((0, 2), np.int32)


def add_float_products(rows: int, vectors: int, *numbers: int) -> None:
    """Add products to a block of sums as ``add_products`` does, of one input at a time."""
    sums, sums_step, weights, weights_step, inputs, inputs_step, count, _ = numbers
    outputs = vectors * SIXTEEN
    table = np.array([memory(weights + i * weights_step, np.float32, outputs) for i in range(count)])
    for r in range(rows):
        given = memory(inputs + r * inputs_step, np.float32, count)
        memory(sums + r * sums_step, np.float32, outputs)[:] += given @ table


@njit
def turn_outputs(weights: int, weights_step: int, outputs: int, inputs: int, to: int, to_step: int) -> None:
    """Write the weights of the next sixteen outputs input by input; zeros for those that are not there.

    Args:
        weights: the address of those of the first, one after the other.
        weights_step: bytes from one output to the next.
        outputs: how many there are from the first on.
        inputs: how many weights each has.
        to: the address of what is written.
        to_step: bytes from one input to the next there.

    """
    if outputs >= SIXTEEN and inputs >= SIXTEEN:
        i = 0
        while i < inputs:
            i = min(i, inputs - SIXTEEN)
            put_turned(to + i * to_step, to_step, weights + i * FLOAT_BYTES, weights_step)
            i += SIXTEEN
        return
    for i in range(inputs):
        for o in range(SIXTEEN):
            source = weights + o * weights_step + i * FLOAT_BYTES
            put_float(to + i * to_step + o * FLOAT_BYTES, float_at(source) if o < outputs else NONE)
