"""Arguments that are held for kernels: the same that a kernel would have been given."""

from __future__ import annotations

import gc
import pickle
from typing import NamedTuple

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.jit.bound_arguments import Held, arguments_of, keep
from territorial.jit.decorators import kernel


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
def hold(whole, memory):
    """Take ``whole`` apart."""
    keep(whole, memory)


@kernel
def weigh(held):
    """Write rate * table of the first ``count`` rows."""
    whole = arguments_of(held)
    for i in range(whole.count):
        for j in range(whole.part.table.shape[1]):
            whole.out[i, j] = whole.part.rate * whole.part.table[i, j]


def test_arrays_are_shared_and_numbers_copied():
    table, out = np.arange(12.0).reshape(4, 3), np.full((4, 3), -1.0)
    held = Held(Whole(3, Part(0.5, table), out), hold)
    weigh(held)
    np.testing.assert_array_equal(out, [[0, 0.5, 1], [1.5, 2, 2.5], [3, 3.5, 4], [-1, -1, -1]])
    table += 2
    weigh(held)
    np.testing.assert_array_equal(out[0], [1, 1.5, 2])


def test_memory_stays_as_long_as_it_is_held():
    held, other = (
        Held(Whole(2, Part(1.0, np.full((2, 5), value)), np.zeros((2, 5))), hold) for value in (3.0, 7.0)
    )
    gc.collect()
    _ = [np.full((2, 5), 99.0) for _ in range(100)]
    weigh(held)
    weigh(other)
    assert (held.arguments.out == 3).all()
    assert (other.arguments.out == 7).all()


def test_it_does_not_go_to_other_processes():
    with pytest.raises(TypeError, match="cannot be copied to another process"):
        pickle.dumps(Held(Whole(1, Part(1.0, np.zeros((1, 1))), np.zeros((1, 1))), hold))


def test_a_batch_that_was_copied_or_sent_plays_in_memory_of_its_own():
    game = VecGame(GameConfig(height=32, width=32, num_players=4), 3, seats=["banker"] * 4, frames=2)
    game.reset(seed=5)
    game.step()  # from here on, arguments are held
    others = [game.clone(), pickle.loads(pickle.dumps(game))]
    before = game.digest(1)
    for other in others:
        for _ in range(20):
            other.step()
        assert game.digest(1) == before != other.digest(1)
    for _ in range(20):
        game.step()
    assert game.digest(1) == others[0].digest(1) == others[1].digest(1)
