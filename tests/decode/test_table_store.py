"""TableStore, against rows that are kept whole."""

import copy
import pickle

import numpy as np
import pytest

from territorial.decode.table_store import TableStore

GAMES, NUMBERS, STEPS = 3, 50, 40


def rows_of_games(changed=0.1, seed=0):
    """Rows of which some numbers change each step, to zeros of both signs and to what is no number, too."""
    rng, rows = np.random.default_rng(seed), np.zeros((STEPS, GAMES, NUMBERS), np.float32)
    for t in range(STEPS):
        values = rng.choice(np.array([0.0, -0.0, np.nan, 1.5, rng.random()], np.float32), rows[t].shape)
        rows[t] = np.where(rng.random(rows[t].shape) < changed, values, rows[max(0, t - 1)])
    return rows


def filled(rows, num_games=GAMES):
    store = TableStore(num_games, rows.shape[2])
    for t, row in enumerate(rows):
        assert store.append(row) == t
    return store


def assert_has(store, rows, first=0):
    pairs = [(k, t) for k in range(rows.shape[1]) for t in range(first, len(rows))]
    games, times = np.random.default_rng(1).permutation(pairs).T
    assert (store.first, store.end, len(store)) == (first, len(rows), len(rows) - first)
    np.testing.assert_array_equal(bits(store.rows(games, times)), bits(rows[times, games]))


def bits(rows):
    return np.ascontiguousarray(rows).view(np.uint32)


@pytest.mark.parametrize("changed", [0.0, 0.1, 1.0])
def test_every_row_comes_back_to_the_bit(changed):
    rows = rows_of_games(changed)
    store = filled(rows)
    assert_has(store, rows)
    assert_has(filled(rows[:, :1], 1), rows[:, :1])
    again = store.rows([2, 0, 2], [5, 39, 5])
    np.testing.assert_array_equal(bits(again), bits(rows[[5, 39, 5], [2, 0, 2]]))
    assert store.rows([], []).shape == (0, NUMBERS)


def test_wide_rows_are_numbered_with_wider_numbers():
    rows = np.zeros((3, 1, 70_000), np.float32)
    rows[1:, 0, 69_999], rows[2, 0, 1] = 3, 4
    assert_has(filled(rows, 1), rows)


def test_it_takes_the_bytes_of_what_changed():
    store = filled(rows_of_games(0.1))
    numbers = sum(len(step.places) for step in store._steps)
    assert numbers < 0.1 * STEPS * GAMES * NUMBERS
    assert store.nbytes == numbers * 6 + STEPS * GAMES * 8
    assert len(pickle.dumps(store)) < store.nbytes + 1000


@pytest.mark.parametrize("step", [0, 1, 17, 39, 40])
def test_a_store_since_a_step_goes_on_by_itself(step):
    rows = rows_of_games()
    whole = filled(rows[:-1])
    since, before = whole.since(min(step, whole.end)), len(pickle.dumps(whole))
    assert since.append(rows[-1]) == STEPS - 1
    assert_has(since, rows, min(step, STEPS - 1))
    assert len(pickle.dumps(whole)) == before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda store: pickle.loads(pickle.dumps(store))])
def test_copies_have_everything_and_go_on(copied):
    rows = rows_of_games()
    other = copied(filled(rows[:-1]))
    other.append(rows[-1])
    assert_has(other, rows)
    assert_has(copied(other.since(7)), rows, 7)
    empty = copied(TableStore(GAMES, NUMBERS))
    empty.append(rows[0])
    assert_has(empty, rows[:1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda store: store.rows([0, 0], [3, 40]),
            IndexError,
            r"times\[1\] is 40; the store has the times from 0 up to, but not including, 40",
        ),
        (lambda store: store.rows([-1], [3]), IndexError, r"games\[0\] is -1"),
        (
            lambda store: store.append(np.zeros((GAMES, NUMBERS))),
            ValueError,
            r"rows is float64 \(3, 50\); it must be an array of float32 \(3, 50\)",
        ),
        (lambda store: store.since(41), ValueError, "step is 41; it must be a whole number from 0 to 40"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    store = filled(rows_of_games())
    with pytest.raises(error, match=message):
        call(store)
    assert len(store) == STEPS
