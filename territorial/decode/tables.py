"""What the decoders look up, whichever library they are written for: small tables in numpy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import action_owners
from territorial.decode.kernels import TOP_LEVEL


def mask_bits(num_players: int) -> npt.NDArray[np.int64]:
    """Return int64 (P, P+2): which bit of a seat's mask says whether the first part of an action is legal."""
    return action_owners(num_players) + 1


def density_thresholds(hard_cap: int) -> npt.NDArray[np.float32]:
    """Return float32 (255,): the least densities of the levels 1..255.

    A density reaches level k where it is at least k/255 of the cap. Comparing with the least float32 of
    which that holds is exact on every device, which dividing is not.
    """
    return np.array([_least_float32(Fraction(k * hard_cap, TOP_LEVEL)) for k in range(1, TOP_LEVEL + 1)])


def _least_float32(bound: Fraction) -> np.float32:
    """Return the least float32 that is not below ``bound``."""
    nearest = np.float32(float(bound))
    return nearest if Fraction(float(nearest)) >= bound else np.nextafter(nearest, np.float32(np.inf))


def level_values() -> npt.NDArray[np.float32]:
    """Return float32 (256,): the density, as a share of the hard cap, that each level stands for."""
    return np.arange(TOP_LEVEL + 1, dtype=np.float32) / np.float32(TOP_LEVEL)
