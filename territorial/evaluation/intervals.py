"""Intervals in which means and shares lie 95 times of 100."""

import math
from typing import NamedTuple

import numpy as np

from territorial.typing import Floats

Z = 1.96
"""Standard errors to both sides between which 95 per cent lie."""
T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12)
"""Student's t at 97.5 per cent for 1 to 16 degrees of freedom."""


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


def students_t(freedom: int) -> float:
    """Return Student's t at 97.5 per cent, to half a per cent."""
    return T[freedom - 1] if freedom <= len(T) else Z + 2.5 / freedom


def mean_of(
    sums: Floats, counts: Floats | None = None, *, least: float = -math.inf, most: float = math.inf
) -> Estimate:
    """Return the mean over games (G,) with Student's interval; of one game there is no interval.

    ``sums`` are of as many numbers as ``counts`` says, of one by default. NaN if there are none in any game.
    No number is below ``least`` or above ``most``, which is where the interval ends, too.
    """
    weights = np.ones(len(sums)) if counts is None else counts
    games, mean, half = int(np.count_nonzero(weights)), math.nan, math.nan
    if games > 0:
        mean = float(sums.sum() / weights.sum())
    if games > 1:
        scatter = np.sum((sums - mean * weights) ** 2) * games / (games - 1)
        half = students_t(games - 1) * float(np.sqrt(scatter) / weights.sum())
    return Estimate(mean, max(mean - half, least), min(mean + half, most))
