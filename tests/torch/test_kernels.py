"""Kernels of networks against PyTorch: drawn actions, and products of several networks."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from territorial.nets import side_by_side
from territorial.nets.choice_kernels import draw_choices
from territorial.nets.side_by_side import FEWEST_ROWS, MOST_ROWS, SIX, SMALL_WEIGHTS, THREE, SideBySide

HEADS = np.array([5, 3])
MASKED = -1e9


def draw(logits, chances):
    choices, logps = np.empty(chances.shape, np.int64), np.empty(len(logits), np.float32)
    draw_choices(logits, HEADS, chances, np.empty(8), choices, logps)
    return choices, logps


def logits_of(rows, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=3, size=(rows, 8)).astype(np.float32)
    masked = rng.random(logits.shape) < 0.4
    masked[:, [0, 6]] = False
    return np.where(masked, np.float32(MASKED), logits)


def test_every_choice_has_the_part_of_the_unit_interval_that_softmax_gives_it():
    """With chances evenly spaced, counts are the probabilities to one part in the number of chances."""
    for logits in logits_of(20):
        rows = 4000
        chances = np.repeat((np.arange(rows)[:, None] + 0.5) / rows, 2, axis=1)
        choices, _ = draw(np.tile(logits, (rows, 1)), chances)
        for h, part in enumerate(torch.from_numpy(logits).double().split(HEADS.tolist())):
            counts = np.bincount(choices[:, h], minlength=len(part))
            np.testing.assert_allclose(counts / rows, part.softmax(0).numpy(), atol=1.01 / rows)


def test_likelihoods_are_those_of_what_was_chosen_and_nothing_masked_is():
    logits = logits_of(5000, seed=1)
    choices, logps = draw(logits, np.random.default_rng(2).random((5000, 2)))
    parts = torch.from_numpy(logits).split(HEADS.tolist(), dim=1)
    wanted = sum(part.log_softmax(1)[range(5000), choices[:, h]] for h, part in enumerate(parts))
    np.testing.assert_allclose(logps, wanted.numpy(), rtol=1e-5, atol=1e-5)
    for h, part in enumerate(parts):
        assert (part[range(5000), choices[:, h]] > MASKED).all()


@pytest.mark.parametrize("chance", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_interval_are_the_first_and_the_last_legal_choice(chance):
    logits = np.array([[MASKED, 1, 2, MASKED, MASKED, 0, MASKED, MASKED]], np.float32)
    choices, _ = draw(logits, np.full((1, 2), chance))
    assert choices.tolist() == [[1 if chance == 0 else 2, 0]]


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
