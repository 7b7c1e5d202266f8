"""What a launch needs and whether it is legal: one formula for kernels, numbers and arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from territorial import GameConfig
from territorial.config import make_params
from territorial.game.formulas import is_legal, largest_need, need_for
from territorial.jit.decorators import kernel
from tests.twin.formulas import launch_need

CONFIG = GameConfig(layer_cost=3, layer_growth_divisor=8, need_divisor=4)
SIZES, POOLS, TROOPS = st.integers(0, 2**20), st.integers(0, 2**40), st.integers(0, 2**40)


@kernel
def judge(size, pool, troops, params, out):
    out[0] = need_for(size, pool, params)
    out[1] = is_legal(out[0], largest_need(troops, params))


def judged_in_a_kernel(size, pool, troops):
    out = np.zeros(2, np.int64)
    judge(size, pool, troops, make_params(CONFIG), out)
    return tuple(out.tolist())


@given(SIZES, POOLS, TROOPS)
def test_a_kernel_says_what_the_reference_implementation_says(size, pool, troops):
    need = launch_need(CONFIG, size, pool) if size else 0
    is_affordable = 0 < need <= troops // CONFIG.need_divisor
    assert judged_in_a_kernel(size, pool, troops) == (need, is_affordable)


@given(st.lists(st.tuples(SIZES, POOLS, TROOPS), min_size=1, max_size=9))
def test_arrays_and_numbers_give_what_a_kernel_gives(launches):
    sizes, pools, troops = np.array(launches, np.int64).T
    needs = need_for(sizes, pools, CONFIG)
    legal = is_legal(needs, largest_need(troops, CONFIG))
    one_by_one = [judged_in_a_kernel(*launch) for launch in launches]
    assert list(zip(needs.tolist(), legal.tolist(), strict=True)) == one_by_one
    assert [need_for(size, pool, CONFIG) for size, pool, _ in launches] == needs.tolist()
