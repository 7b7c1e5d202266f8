"""Intervals in which means and shares lie 95 times of 100."""

import math
from typing import NamedTuple

Z = 1.96
"""Standard errors to both sides between which 95 per cent lie."""


class Estimate(NamedTuple):
    """A mean over games, and the interval in which it lies 95 times of 100."""

    value: float
    low: float
    high: float


def wilson(share: float, trials: float) -> Estimate:
    """Return a share of so many trials with Wilson's interval, which has a width at 0 and at 1 too.

    Of numbers between 0 and 1, ``share`` being their mean, it is that of the most scattered.
    """
    spare = Z * Z / trials
    middle = (share + spare / 2) / (1 + spare)
    half = Z / (1 + spare) * math.sqrt((share * (1 - share) + spare / 4) / trials)
    return Estimate(float(share), float(max(middle - half, 0.0)), float(min(middle + half, 1.0)))
