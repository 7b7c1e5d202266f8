"""Arguments that are bound for kernels: the same that a kernel would have been given."""

import gc
import pickle
from typing import NamedTuple

import numpy as np
import pytest

from territorial.jit.arguments import BoundArguments
from territorial.jit.decorators import address_of, arguments_of, call_at, kernel


class Part(NamedTuple):
    """A part of the arguments."""

    rate: float
    table: np.ndarray


class Whole(NamedTuple):
    """The arguments of ``weigh``."""

    count: int
    part: Part
    out: np.ndarray


@kernel
def weigh(bound):
    """Write rate * table of the first ``count`` rows."""
    whole = arguments_of(bound)
    for i in range(whole.count):
        for j in range(whole.part.table.shape[1]):
            whole.out[i, j] = whole.part.rate * whole.part.table[i, j]


def test_arrays_are_shared_and_numbers_copied():
    table, out = np.arange(12.0).reshape(4, 3), np.full((4, 3), -1.0)
    bound = BoundArguments(Whole(3, Part(0.5, table), out))
    weigh(bound)
    np.testing.assert_array_equal(out, [[0, 0.5, 1], [1.5, 2, 2.5], [3, 3.5, 4], [-1, -1, -1]])
    table += 2
    weigh(bound)
    np.testing.assert_array_equal(out[0], [1, 1.5, 2])


def test_memory_stays_as_long_as_it_is_held():
    bound, other = (
        BoundArguments(Whole(2, Part(1.0, np.full((2, 5), value)), np.zeros((2, 5)))) for value in (3.0, 7.0)
    )
    gc.collect()
    _ = [np.full((2, 5), 99.0) for _ in range(100)]
    weigh(bound)
    weigh(other)
    assert (bound.arguments.out == 3).all()
    assert (other.arguments.out == 7).all()


def test_it_does_not_go_to_other_processes():
    with pytest.raises(TypeError, match="cannot be copied to another process"):
        pickle.dumps(BoundArguments(Whole(1, Part(1.0, np.zeros((1, 1))), np.zeros((1, 1)))))


# ---- calls by address ----------------------------------------------------------------------------


@kernel
def add_row(bound, row, factor):
    """Add ``factor`` times a row of the table to that of ``out``; an error for a row that is not there."""
    whole = arguments_of(bound)
    if row >= whole.count:
        raise IndexError("no such row")
    for j in range(whole.out.shape[1]):
        whole.out[row, j] += factor * whole.part.table[row, j]


@kernel
def add_rows(bound, address, first, end):
    """Add twice the rows [first, end)."""
    for row in range(first, end):
        call_at(address, add_row, bound, (row, 2.0))


def test_a_kernel_called_by_address_gets_what_is_held_and_its_errors_come_back():
    table, out = np.arange(12.0).reshape(4, 3), np.ones((4, 3))
    bound = BoundArguments(Whole(3, Part(0.5, table), out))
    address = address_of(add_row, bound, 0, 2.0)
    add_rows(bound, address, 1, 3)
    np.testing.assert_array_equal(out, [[1, 1, 1], [7, 9, 11], [13, 15, 17], [1, 1, 1]])
    with pytest.raises(IndexError, match="no such row"):
        add_rows(bound, address, 2, 4)
    np.testing.assert_array_equal(out[2:], [[25, 29, 33], [1, 1, 1]])
