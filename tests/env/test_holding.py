"""However an array of an observation is held, it never changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from territorial import make_vec
from territorial.engine import lending
from tests.env.holding import WAYS

KEYS = ("observation", "terrain", "players", "borders", "globals", "action_mask")
HOLDS = st.lists(st.tuples(st.sampled_from(sorted(WAYS)), st.sampled_from(KEYS)), max_size=3)
STEPS = st.lists(st.tuples(HOLDS, st.integers(0, 2)), min_size=2, max_size=12)


@pytest.fixture(scope="module")
def vec():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lending, "LENT_FROM", 1)
        yield make_vec(2, height=24, width=24, num_players=4, max_ticks=100)


def play(vec, steps, ways=WAYS):
    """Play ``steps``: what is held of each observation, in which ways, and how many are let go then."""
    seen, held = vec.reset(seed=1)[0], []
    for number, (holds, num_dropped) in enumerate(steps):
        for way, key in holds:
            hold, read = ways[way]
            holder = hold(seen[key])
            held.append((way, holder, read, read(holder)))
        seen.clear()
        held = held[num_dropped:]
        seen = vec.step(np.full((2, 4), 11 + 10 * (number % 3)))[0]
        for way, holder, read, then in held:
            assert read(holder) in {then, None}, way


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_what_is_held_in_whatever_way_never_changes(vec, steps):
    play(vec, steps)


@pytest.mark.verify
@settings(max_examples=3000, deadline=None)
@given(steps=STEPS)
def test_what_is_held_in_whatever_way_never_changes_in_thousands_of_games(vec, steps):
    play(vec, steps)


@pytest.mark.parametrize("way", sorted(WAYS))
def test_each_way_of_holding_keeps_what_it_shows(vec, way):
    play(vec, [([(way, key) for key in KEYS], 0)] + [([], 0)] * 8)


@pytest.mark.parametrize("way", sorted(set(WAYS) - {"the array", "a pickle", "weakly", "its base, weakly"}))
def test_an_array_that_is_held_in_any_way_but_weakly_or_as_a_copy_is_known_to_be(way):
    lent = lending.LentArray(np.arange(24.0).reshape(2, 3, 4))
    hold, read = WAYS[way]
    holder = hold(lent.lend())
    assert lent.is_held
    assert read(holder)
    if way not in {"a cycle", "a traceback", "another thread"}:  # of these it is known a little later
        del holder
        assert not lent.is_held
