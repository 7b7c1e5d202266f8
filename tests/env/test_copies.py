"""Copies that steps make of what is observed, in memory that is lent again once nobody holds it."""

import pickle
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import territorial
from territorial.bots import HOLD_ALL
from territorial.envs import forms
from territorial.observation.copies import NUM_LENT
from tests.bots.support import python_bot
from tests.env.support import SLEEPER, legal_choices

# Rows, columns and players: whole words and blocks, and rows and words that the engine pads.
SHAPES = [(64, 64, 4), (50, 70, 3), (33, 130, 9), (16, 16, 2)]


@pytest.fixture(autouse=True)
def steps_make_copies(monkeypatch):
    """Small batches are copied within steps, as large ones are."""
    monkeypatch.setattr(forms, "LARGE", 0)


def pair_of(shape, **keywords):
    """Return two environments that play the same games: one that copies, and one that shows views."""
    height, width, players = shape
    made = [
        territorial.make_vec(
            3, height=height, width=width, num_players=players, max_ticks=300, zero_copy=shows, **keywords
        )
        for shows in (False, True)
    ]
    for vec in made:
        vec.reset(seed=5)
    return made


def play_both(copying, showing, steps=40, holds=1):
    """Compare all observations of the two; return the first's last ``holds``, and what they were."""
    rng, kept = np.random.default_rng(1), deque(maxlen=holds)
    for _ in range(steps):
        actions = legal_choices(copying.action_masks(), rng)
        mine, theirs = copying.step(actions), showing.step(actions)
        for key, array in theirs[0].items():
            assert np.array_equal(mine[0][key], array), key
            assert mine[0][key].flags.writeable == (key not in ("observation", "terrain")), key
            assert (mine[0][key].dtype, mine[0][key].flags.c_contiguous) == (array.dtype, True), key
        assert np.array_equal(mine[1], theirs[1])
        kept.append((mine[0], pickle.dumps(mine[0])))
    return kept


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("frames", [1, 4])
@pytest.mark.parametrize("holds", [1, NUM_LENT, 40])
def test_copies_are_what_views_show_and_stay_as_they_are(shape, frames, holds):
    for observation, then in play_both(*pair_of(shape, frames=frames, num_threads=frames), holds=holds):
        for key, array in pickle.loads(then).items():
            assert np.array_equal(observation[key], array), key


def test_memory_is_used_again_once_nobody_has_a_view_of_it():
    vec, _ = pair_of(SHAPES[0])
    hold = np.zeros((3, 4), int)
    for key in ("observation", "borders"):
        assert len({vec.step(hold)[0][key].ctypes.data for _ in range(9)}) == 1, key
    part = vec.step(hold)[0]["observation"][1, 0, 2:]
    then = part.copy()
    for _ in range(9):
        vec.step(hold)
    assert np.array_equal(part, then)


@pytest.mark.parametrize("change", ["restore", "reset_game", "clone", "reset"])
def test_copies_show_games_that_changed_between_steps(change):
    vecs = pair_of(SHAPES[0])
    saved = [vec.save(1) for vec in vecs]
    for _ in range(3):
        play_both(*vecs, steps=7)
        if change == "restore":
            for vec, one in zip(vecs, saved, strict=True):
                vec.restore(2, one)
        elif change == "clone":
            vecs = [vec.clone() for vec in vecs]
        else:
            for vec in vecs:
                getattr(vec, change)(*[0] * (change == "reset_game"), seed=9)
    play_both(*vecs, steps=7)


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
@pytest.mark.parametrize("reward_fn", [None, lambda previous, state, info: np.zeros(state.land[:, 1:].shape)])
def test_copies_show_the_games_that_take_the_places_of_others(autoreset, reward_fn):
    copying, showing = pair_of(SHAPES[0], autoreset=autoreset, reward_fn=reward_fn)
    play_both(copying, showing, steps=70)
    assert copying.game.state.episode.min() >= (0 if autoreset == "disabled" else 2)


@pytest.mark.parametrize("seats", [None, ["agent", SLEEPER, "banker", "agent"]])
def test_copies_show_what_there_is_after_several_decisions(seats):
    play_both(*pair_of(SHAPES[0], repeat=3, seats=seats), steps=20)


def test_a_second_thread_is_refused_and_a_step_that_fails_leaves_no_address_behind():
    def fail(view):
        if view.ticks.min() > 0:
            with ThreadPoolExecutor() as threads:
                refused = threads.submit(vec.step, hold).exception()
            assert vec.game._loans.lending.target.any(), "the first thread's step copies no more"
            raise refused
        return HOLD_ALL, 1

    vec, _ = pair_of(SHAPES[0], seats=["agent", "agent", "agent", python_bot(fail, "fails-1", 10)])
    hold = np.zeros((3, 3), int)
    vec.step(hold)
    with pytest.raises(RuntimeError, match="another thread is using"):
        vec.step(hold)
    assert not vec.game._loans.lending.target.any()


@pytest.mark.parametrize("count", [1, 64])
def test_large_batches_alone_are_copied_within_steps(monkeypatch, count):
    monkeypatch.undo()
    assert (territorial.make_vec(count, num_players=32)._form.new_copies() is None) == (count == 1)
