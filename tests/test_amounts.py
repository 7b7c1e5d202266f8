"""What launches take from a balance: one formula for kernels, numbers and arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from territorial import GameConfig
from territorial.config import make_params
from territorial.game.formulas import amount_sent, fraction_for, tax_on, wanted_of
from territorial.jit.decorators import kernel
from tests.twin.formulas import launch_tax, wanted_amount

CONFIG = GameConfig(launch_tax=37)
TROOPS, FRACTIONS, NEEDS = st.integers(1, 2**40), st.integers(1, 1024), st.integers(0, 2**40)


@kernel
def compute(troops, fraction, need, params, out):
    out[0] = tax_on(troops, params)
    out[1] = wanted_of(troops, fraction)
    out[2] = amount_sent(out[1], need, troops, params)
    out[3] = fraction_for(need, troops)


def computed_in_a_kernel(troops, fraction, need):
    out = np.zeros(4, np.int64)
    compute(troops, fraction, need, make_params(CONFIG), out)
    return out.tolist()


@given(TROOPS, FRACTIONS, NEEDS)
def test_a_kernel_says_what_the_reference_implementation_says(troops, fraction, need):
    tax, wanted = launch_tax(CONFIG, troops), wanted_amount(troops, fraction)
    assert computed_in_a_kernel(troops, fraction, need)[:3] == [
        tax,
        wanted,
        min(troops - tax, max(wanted, need)),
    ]


@given(st.lists(st.tuples(TROOPS, FRACTIONS, NEEDS), min_size=1, max_size=9))
def test_arrays_and_numbers_give_what_a_kernel_gives(launches):
    troops, fractions, needs = np.array(launches, np.int64).T
    wanted = wanted_of(troops, fractions)
    columns = (
        tax_on(troops, CONFIG),
        wanted,
        amount_sent(wanted, needs, troops, CONFIG),
        fraction_for(needs, troops),
    )
    assert np.stack(columns, axis=1).tolist() == [computed_in_a_kernel(*launch) for launch in launches]
    assert [tax_on(troops, CONFIG) for troops, _, _ in launches] == columns[0].tolist()


@given(TROOPS, NEEDS)
def test_the_fraction_for_an_amount_is_the_least_that_comes_to_it(troops, amount):
    found = int(fraction_for(amount, troops))
    assert 1 <= found <= 1024
    assert wanted_of(troops, found) >= min(amount, troops)
    assert found == 1 or wanted_of(troops, found - 1) < amount
