"""The counter RNG against plain Python's integers."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from territorial.game.formulas import draw, draw_below, mix
from tests.twin import rng as slow

WORDS = st.integers(0, 2**64 - 1)
COUNTS = st.integers(0, 2**63 - 1)


@given(WORDS)
@example(0)
@example(2**32)
@example(2**63)
@example(2**64 - 1)
def test_mix_is_that_of_plain_python(word):
    assert int(mix(np.uint64(word))) == slow.mix(word)


def test_mix_is_splitmix64():
    """The first outputs of the generator of Steele, Lea and Flood (2014) that starts from 0."""
    state, outputs = 0, []
    for _ in range(3):
        outputs.append(int(mix(np.uint64(state))))
        state = (state + 0x9E3779B97F4A7C15) & (2**64 - 1)
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(WORDS, st.integers(0, 20), COUNTS, COUNTS)
def test_a_draw_nests_mix_over_seed_stream_tick_and_index(seed, stream, tick, index):
    assert int(draw(np.uint64(seed), stream, tick, index)) == slow.H(seed, stream, tick, index)


@given(st.integers(1, 2**31), WORDS, st.integers(0, 20), COUNTS, COUNTS)
def test_a_draw_below_a_bound_is_the_rest_of_a_division(bound, seed, stream, tick, index):
    number = draw_below(bound, np.uint64(seed), stream, tick, index)
    assert number == slow.H(seed, stream, tick, index) % bound


def test_small_bounds_come_out_evenly():
    counts = np.bincount([draw_below(7, np.uint64(3), 1, tick, 0) for tick in range(7000)], minlength=7)
    assert counts.min() > 900
    assert counts.max() < 1100
