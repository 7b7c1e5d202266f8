"""What launches need, take and send, and the counter RNG: one formula for kernels, numbers and arrays."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from territorial import GameConfig
from territorial.config import make_params
from territorial.game.formulas import (
    amount_sent,
    draw,
    draw_below,
    fraction_for,
    is_legal,
    largest_need,
    mix,
    need_for,
    tax_on,
    wanted_of,
)
from territorial.jit.decorators import kernel
from tests.twin import formulas as slow
from tests.twin import rng as slow_rng

CONFIG = GameConfig(launch_tax=37, layer_cost=3, layer_growth_divisor=8, need_divisor=4)
LARGE = st.integers(0, 2**40)
# Troops, fraction, cells of the front, pool.
LAUNCHES = st.tuples(st.integers(1, 2**40), st.integers(1, 1024), st.integers(0, 2**20), LARGE)
WORDS, COUNTS = st.integers(0, 2**64 - 1), st.integers(0, 2**63 - 1)


def computed(troops, fraction, size, pool, params):
    """Return what follows from a launch, or from an array of each."""
    need, wanted = need_for(size, pool, params), wanted_of(troops, fraction)
    legal = is_legal(need, largest_need(troops, params))
    return tax_on(troops, params), wanted, need, legal, amount_sent(wanted, need, troops, params)


@kernel
def compute(troops, fraction, size, pool, params, out):
    out[2] = need_for(size, pool, params)
    out[1] = wanted_of(troops, fraction)
    out[0] = tax_on(troops, params)
    out[3] = is_legal(out[2], largest_need(troops, params))
    out[4] = amount_sent(out[1], out[2], troops, params)


@given(st.lists(LAUNCHES, min_size=1, max_size=9))
def test_kernels_numbers_and_arrays_have_what_the_reference_implementation_has(launches):
    columns = computed(*np.array(launches, np.int64).T, CONFIG)
    for (troops, fraction, size, pool), of_arrays in zip(launches, np.stack(columns, axis=1), strict=True):
        out = np.zeros(5, np.int64)
        compute(troops, fraction, size, pool, make_params(CONFIG), out)
        tax, wanted = slow.launch_tax(CONFIG, troops), slow.wanted_amount(troops, fraction)
        need = slow.launch_need(CONFIG, size, pool) if size else 0
        legal, amount = 0 < need <= troops // CONFIG.need_divisor, min(troops - tax, max(wanted, need))
        of_numbers = list(computed(troops, fraction, size, pool, CONFIG))
        assert out.tolist() == of_arrays.tolist() == of_numbers == [tax, wanted, need, legal, amount]


@given(st.integers(1, 2**40), LARGE)
def test_the_fraction_for_an_amount_is_the_least_that_comes_to_it(troops, amount):
    found = int(fraction_for(amount, troops))
    assert 1 <= found <= 1024
    assert wanted_of(troops, found) >= min(amount, troops)
    assert found == 1 or wanted_of(troops, found - 1) < amount


def test_mix_is_splitmix64():
    """The first outputs of the generator of Steele, Lea and Flood (2014) that starts from 0."""
    state, outputs = 0, []
    for _ in range(3):
        outputs.append(int(mix(np.uint64(state))))
        state = (state + 0x9E3779B97F4A7C15) & (2**64 - 1)
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(st.integers(1, 2**31), WORDS, st.integers(0, 20), COUNTS, COUNTS)
@example(1, 2**64 - 1, 0, 0, 0)
def test_draws_are_those_of_plain_python(bound, seed, stream, tick, index):
    wanted = slow_rng.H(seed, stream, tick, index)
    assert int(draw(np.uint64(seed), stream, tick, index)) == wanted
    assert draw_below(bound, np.uint64(seed), stream, tick, index) == wanted % bound
