"""Arrays whose lengths the compiler knows: the same entries, found with fewer numbers."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

from territorial.jit.bound_arguments import Held, arguments_of, keep
from territorial.jit.decorators import JIT_ENABLED, kernel
from territorial.jit.simd import at, eight, fill, put, put_at

pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")


class Arrays(NamedTuple):
    """The arguments of the kernels here."""

    table: np.ndarray  # (N, 3, 4)
    flags: np.ndarray  # (N,) bool
    small: np.ndarray  # (3, 5) int32
    words: np.ndarray  # (3, 16)
    loose: np.ndarray  # any shape, an ordinary array for kernels


UNKNOWN = {"table": 1, "flags": 1, "small": 0, "words": 0}


@kernel
def hold(arrays, memory):
    """Take ``arrays`` apart."""
    keep(arrays, memory)


def arrays_of(count=6, loose=1):
    return Arrays(
        np.arange(count * 12.0).reshape(count, 3, 4),
        np.zeros(count, np.bool_),
        np.zeros((3, 5), np.int32),
        np.arange(48, dtype=np.uint64).reshape(3, 16),
        np.zeros(loose),
    )


def call(function, arrays, unknown=UNKNOWN):
    """Compile ``function`` of the arrays, call it, and return how it was compiled."""

    def from_held(held):
        function(arguments_of(held))

    from_held.__module__ = __name__
    compiled = numba.njit(from_held, _nrt=False)
    compiled(Held(arrays, hold, unknown))
    return compiled


@numba.njit(_nrt=False)
def read_and_write(arrays):
    table, small = arrays.table, arrays.small
    for i in range(len(table)):
        rows = table[i]
        arrays.flags[i] = rows[0, 1] > 20
        for j in range(rows.shape[0]):
            row = rows[j]
            for k in range(np.uint64(len(row))):
                row[k] = -row[k]
            table[i, j, 0] += 1000 * j
    small[0, 0], small[0, 1], small[0, 2] = table.shape[0], table.shape[1], table.shape[2]
    small[1, 0], small[1, 1], small[1, 2] = len(table[0]), table[0].size, table.size
    small[2, np.int8(4)] = 7.9


def test_entries_rows_and_lengths():
    arrays, before = arrays_of(), arrays_of()
    call(read_and_write, arrays)
    expected = -before.table
    expected[:, :, 0] += [0, 1000, 2000]
    np.testing.assert_array_equal(arrays.table, expected)
    np.testing.assert_array_equal(arrays.flags, before.table[:, 0, 1] > 20)
    np.testing.assert_array_equal(arrays.small, [[6, 3, 4, 0, 0], [3, 12, 72, 0, 0], [0, 0, 0, 0, 7]])


@numba.njit(_nrt=False)
def by_words(arrays):
    put(arrays.words, 8, eight(arrays.words, 24))
    put_at(arrays.words, 0, at(arrays.words[2], 15))
    fill(arrays.table[1], 0.5)


def test_places_are_counted_through_all_axes():
    arrays, expected = arrays_of(), arrays_of()
    expected.words.reshape(-1)[8:16] = expected.words.reshape(-1)[24:32]
    expected.words[0, 0] = expected.words[2, 15]
    expected.table[1] = 0.5
    call(by_words, arrays)
    np.testing.assert_array_equal(arrays.words, expected.words)
    np.testing.assert_array_equal(arrays.table, expected.table)


def test_lengths_that_are_not_known_share_machine_code_and_others_do_not():
    arrays = arrays_of()
    same = Held(arrays_of(count=2, loose=9), hold, UNKNOWN).type
    assert Held(arrays, hold, UNKNOWN).type == same
    assert Held(arrays, hold, UNKNOWN | {"table": 0}).type != same
    assert Held(arrays, hold).type != same
    assert Held(arrays._replace(words=np.zeros((3, 8), np.uint64)), hold, UNKNOWN).type != same


def test_all_lengths_may_be_unknown():
    arrays, others = arrays_of(), arrays_of()
    call(read_and_write, arrays, {"table": 3, "flags": 1, "small": 2})
    call(read_and_write, others)
    for array, other in zip(arrays, others, strict=True):
        np.testing.assert_array_equal(array, other)


@numba.njit(_nrt=False)
def takes_a_slice(arrays):
    arrays.table[0, :, 0] = 0.0


@numba.njit(_nrt=False)
def has_an_axis_too_many(arrays):
    arrays.small[0, 0, 0] = 1


@pytest.mark.parametrize("function", [takes_a_slice, has_an_axis_too_many])
def test_what_they_cannot_do_does_not_compile(function):
    with pytest.raises(numba.core.errors.TypingError):
        call(function, arrays_of())


def test_only_arrays_in_c_order_that_can_be_written_to_are_sized():
    read_only = np.zeros((3, 5), np.int32)
    read_only.flags.writeable = False
    for small in (np.zeros((5, 3), np.int32).T, read_only):
        with pytest.raises(TypeError, match=r"small is .*must be writable and in C order"):
            Held(arrays_of()._replace(small=small), hold, UNKNOWN)


class Pair(NamedTuple):
    """Arrays of one type: to numba another kind of tuple."""

    first: np.ndarray
    second: np.ndarray


@kernel
def hold_pair(pair, memory):
    """Take ``pair`` apart."""
    keep(pair, memory)


@numba.njit(_nrt=False)
def double_the_first(pair):
    for i in range(pair.first.shape[1]):
        pair.first[0, i] = 2 * pair.second[0, i]


def test_arrays_of_one_type_are_sized_as_well():
    pair = Pair(np.zeros((1, 3)), np.ones((1, 4)))
    held = Held(pair, hold_pair, {"first": 1, "second": 1})
    assert [kind.shape for kind in held.type.given] == [(None, 3), (None, 4)]

    @numba.njit(_nrt=False)
    def from_held(held):
        double_the_first(arguments_of(held))

    from_held(held)
    np.testing.assert_array_equal(pair.first, [[2, 2, 2]])
