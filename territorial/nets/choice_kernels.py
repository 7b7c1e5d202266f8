"""Actions drawn from logits, on the processor: in one pass instead of two dozen operations."""

from __future__ import annotations

import math
from typing import Any

from territorial.jit.decorators import kernel, njit

LEAST_EXPONENT = -746.0
"""Where exp() is 0 even among the numbers that are too small to be exact."""


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
def draw_one(logits: Any, weights: Any, first: int, end: int, chance: float) -> Any:
    """Return one of ``first`` up to ``end`` and the logarithm of how likely it was."""
    highest = logits[first]
    for i in range(first + 1, end):
        highest = max(highest, logits[i])
    total = 0.0
    for i in range(first, end):
        above = logits[i] - highest
        # Most of what could be done is not legal, and exp() takes more than all the rest.
        weights[i] = math.exp(above) if above > LEAST_EXPONENT else 0.0
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
    return choice, logits[choice] - highest - math.log(total)
