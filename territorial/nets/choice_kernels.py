"""Samples actions from logits on the processor, in one pass."""

from typing import Any

import numpy as np

from territorial.jit.decorators import kernel, njit

LEAST_EXPONENT = -708.0
"""Below it exp() is less than the least number that has all its digits, and counts as 0."""
POWERS = 2.0 ** np.arange(-1022, 1)
LOG2_HIGH, LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The logarithm of 2 in two parts, as in fdlibm: products of the first with whole numbers are exact."""


@kernel
def draw_choices(logits: Any, heads: Any, chances: Any, weights: Any, choices: Any, logps: Any) -> None:
    """Draw every part of every action, each from the softmax of its logits, by inverting their distribution.

    Args:
        logits: float32 (N, K), those of the parts one after the other.
        heads: int64 (H,), how many each part has; K together.
        chances: float64 (N, H), independent, uniform in [0, 1).
        weights: float64 (K,), scratch.
        choices: int64 (N, H), written.
        logps: float32 (N,), written: the logarithm of how likely the whole action was.

    """
    for n in range(len(logits)):
        total, first = 0.0, 0
        for h in range(len(heads)):
            choice, logp = draw_one(logits[n], weights, first, first + heads[h], chances[n, h])
            choices[n, h] = choice - first
            total += logp
            first += heads[h]
        logps[n] = total


@njit
def exponential(x: Any) -> float:
    """Return exp(x) for x up to 0, in float64 and within two units of its last digit; 0 below LEAST_EXPONENT.

    By Taylor's series, from additions and products alone: a processor's library of mathematics would give
    other digits on another machine.
    """
    if x < LEAST_EXPONENT:
        return 0.0
    power = int(x / LOG2_HIGH - 0.5)
    rest = (np.float64(x) - power * LOG2_HIGH) - power * LOG2_LOW
    total = 1.0
    for i in range(13, 0, -1):
        total = 1.0 + total * rest / i
    return total * POWERS[power + 1022]


@njit
def logarithm(x: Any) -> float:
    """Return log(x) for x above 0 in float64, as ``exponential`` does: by the series of its inverse tanh."""
    power, left = 0, np.float64(x)
    while left > 1.5:
        left, power = left / 2, power + 1
    while left < 0.75:
        left, power = left * 2, power - 1
    part = (left - 1.0) / (left + 1.0)
    total = 0.0
    for i in range(21, 0, -2):
        total = total * part * part + 1.0 / i
    return 2.0 * part * total + power * LOG2_LOW + power * LOG2_HIGH


@njit
def draw_one(logits: Any, weights: Any, first: int, end: int, chance: float) -> Any:
    """Return one of ``first`` up to ``end`` and the logarithm of how likely it was."""
    highest = logits[first]
    for i in range(first + 1, end):
        highest = max(highest, logits[i])
    total = 0.0
    for i in range(first, end):
        above = logits[i] - highest
        weights[i] = exponential(above)
        total += weights[i]
    # What is added up again is the same to the bit, so that the sum gets beyond the bound; that the bound is
    # rounded up to the total itself is why the last one with any weight is remembered.
    bound, reached, choice = chance * total, 0.0, first
    for i in range(first, end):
        if weights[i] > 0.0:
            choice = i
            reached += weights[i]
            if reached > bound:
                break
    return choice, logits[choice] - highest - logarithm(total)
