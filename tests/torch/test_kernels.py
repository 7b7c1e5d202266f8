"""Actions as they are drawn, and the kernel for products of several networks against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from territorial.nets import side_by_side
from territorial.nets.policy import drawn_at
from territorial.nets.side_by_side import FEWEST_ROWS, MOST_ROWS, SIX, SMALL_WEIGHTS, THREE, SideBySide


@pytest.mark.parametrize("weights", [[1.0], [0.0, 2.0, 1.0, 0.0, 3.0, 0.0], [1e-9, 5.0, 1e-3, 0.7]])
def test_every_choice_has_the_part_of_the_unit_interval_that_its_weight_gives_it(weights):
    """With numbers evenly spaced, counts are the probabilities to one part in how many there are."""
    rows, weight = 4000, torch.tensor(weights)
    numbers = (torch.arange(rows, dtype=torch.float64)[:, None] + 0.5) / rows
    counts = drawn_at(weight.expand(rows, -1), numbers)[:, 0].bincount(minlength=len(weights))
    np.testing.assert_allclose(counts / rows, weight / weight.sum(), atol=1.01 / rows)


def test_the_ends_of_the_interval_are_the_first_and_the_last_choice_with_any_weight():
    weights = torch.tensor([0, 1, 2, 0, 0, 3, 0, 0]).expand(2, -1)
    ends = torch.tensor([[0.0], [np.nextafter(1.0, 0.0)]], dtype=torch.float64)
    assert drawn_at(weights / 3, ends).flatten().tolist() == [1, 5]
    assert drawn_at(weights, torch.ones(2, 1)).flatten().tolist() == [5, 5]  # as by rounding


COUNTS = [SIX + THREE + 2, 0, 1, 2 * SIX, THREE]


def drawn(counts, inputs, outputs, within=()):
    """Return rows, and weights and biases of a network for each of ``counts``."""
    draw = torch.Generator().manual_seed(inputs + outputs)
    weights = [torch.randn(outputs, inputs, generator=draw) for _ in counts]
    biases = [torch.randn(outputs, generator=draw) for _ in counts]
    return torch.randn(sum(counts), *within, inputs, generator=draw), weights, biases


def together(counts, rows, weights, biases=None):
    """Return what comes of all rows in one call."""
    sizes = {len(rows): counts}
    given = SideBySide.of(weights, sizes), None if biases is None else SideBySide.of(biases, sizes)
    with torch.no_grad():
        return functional.linear(rows, *given)


def apart(counts, rows, weights, biases=None):
    """Return the same network by network, in float64 and rounded at the end."""
    starts = biases or [weight.new_zeros(len(weight)) for weight in weights]
    parts = zip(rows.double().split(counts), weights, starts, strict=True)
    exact = [functional.linear(own, weight.double(), start.double()) for own, weight, start in parts]
    return torch.cat(exact).float()


@pytest.fixture
def calls(monkeypatch):
    """The shapes of the rows that the kernel has been given."""
    found, write = [], side_by_side.write_products
    monkeypatch.setattr(
        side_by_side, "write_products", lambda rows, *rest: found.append(rows.shape) or write(rows, *rest)
    )
    return found


@pytest.mark.parametrize("has_biases", [True, False])
@pytest.mark.parametrize("within", [(), (4,), (2, 3)])
@pytest.mark.parametrize(("inputs", "outputs"), [(34, 64), (64, 192), (64, 11), (7, 5), (16, 16), (40, 33)])
def test_products_are_those_of_each_network(inputs, outputs, within, has_biases, calls):
    rows, weights, biases = drawn(COUNTS, inputs, outputs, within)
    given = COUNTS, rows, weights, biases if has_biases else None
    found, wanted = together(*given), apart(*given)
    assert len(calls) == 1
    assert found.shape == wanted.shape
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_row_has_the_same_bits_among_any_others():
    rows, weights, biases = drawn(COUNTS, 34, 75)
    every = together(COUNTS, rows, weights, biases)
    numbers = [number for number, count in enumerate(COUNTS) for _ in range(count)]
    for row, number in enumerate(numbers):
        alone = together([1], rows[row : row + 1], [weights[number]], [biases[number]])
        assert torch.equal(every[row : row + 1], alone)


def test_rows_may_lie_apart_and_weights_that_do_are_left_to_pytorch(calls):
    rows, weights, biases = drawn(COUNTS, 34, 64)
    wanted = together(COUNTS, rows, weights, biases)
    spread = torch.stack([rows, rows], dim=2)[..., 0]
    assert torch.equal(together(COUNTS, spread, weights, biases), wanted)
    turned = [weight.t().contiguous().t() for weight in weights]
    torch.testing.assert_close(together(COUNTS, rows, turned, biases), wanted, rtol=1e-4, atol=1e-4)
    assert len(calls) == 2


LARGE = SMALL_WEIGHTS // 64 + 1


@pytest.mark.parametrize(
    ("each", "inputs", "is_kernel"),
    [
        (1, 64, True),
        (MOST_ROWS, 64, True),
        (MOST_ROWS + 1, 64, False),
        (FEWEST_ROWS - 1, LARGE, False),
        (FEWEST_ROWS, LARGE, True),
    ],
)
def test_the_kernel_multiplies_where_it_takes_less_time(each, inputs, is_kernel, calls):
    counts = [each] * 3
    given = counts, *drawn(counts, inputs, 64)
    torch.testing.assert_close(together(*given), apart(*given), rtol=1e-5, atol=1e-3)
    assert bool(calls) == is_kernel
