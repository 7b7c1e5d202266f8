"""Launches as rows of whole numbers: when, who, against whom, and how much.

Such tables go from deciding to the rules, to the log of a recorded game, and from a replay back to the rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import njit

LAUNCH_TICK, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_FRACTION = range(4)
"""The columns: the tick, the seat 1..P, the owner code of the target 0..P, and 1024ths of the balance."""
NUM_LAUNCH_COLUMNS = 4


class LaunchList(NamedTuple):
    """The launches of one tick of a game: the rows [first, end) of a table, made in this order."""

    rows: npt.NDArray[np.int64]  # (N, 4)
    first: int
    end: int


@njit
def write_launch(rows: Any, i: int, now: int, p: int, target: int, fraction: int) -> None:
    """Write row ``i`` of a table of launches, (N, 4)."""
    rows[i, LAUNCH_TICK] = now
    rows[i, LAUNCH_SEAT] = p
    rows[i, LAUNCH_TARGET] = target
    rows[i, LAUNCH_FRACTION] = fraction
