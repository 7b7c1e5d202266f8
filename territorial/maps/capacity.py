"""How many spawns a map has room for, when each takes the first place that is free."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from territorial.config.land_mask import LandMask, check_is_mask
from territorial.config.validation import whole_number
from territorial.constants import MAX_SIDE, SPAWN_SIDE

_ENDS = (0, SPAWN_SIDE - 1)
SPAWN_SHAPE = tuple(
    (r, c) for r in range(SPAWN_SIDE) for c in range(SPAWN_SIDE) if not (r in _ENDS and c in _ENDS)
)
"""The cells of a spawn, from its anchor."""
_REACH = tuple(
    max(c - other_c for r, c in SPAWN_SHAPE for other_r, other_c in SPAWN_SHAPE if r - other_r == rows)
    for rows in range(SPAWN_SIDE)
)
"""Two spawns share a cell if, ``rows`` apart, they are at most _REACH[rows] columns apart."""


def capacity(land: LandMask, enough: int | None = None) -> int:
    """Return how many spawns fit if each takes the first free anchor in reading order.

    An anchor is the upper left cell of a 4 x 4 square without its corners; it is free while all 12
    cells are land and unused. Counting stops at ``enough``, where that is given.
    """
    check_is_mask("land", land)
    if enough is not None:
        enough = whole_number("enough", enough, 0, MAX_SIDE**2)
    # Anchors have the map's own indices; those of the last three rows and columns are never free,
    # so the slices below stay inside the buffer and never clear an anchor of another row.
    is_free = bytearray(anchors_on(land.to_array()).tobytes())
    count = 0
    anchor = is_free.find(1)
    while anchor >= 0 and (enough is None or count < enough):
        count += 1
        for rows, reach in enumerate(_REACH):
            below = anchor + rows * land.width
            first = max(0, below - reach)
            is_free[first : below + reach + 1] = bytes(below + reach + 1 - first)
        anchor = is_free.find(1, anchor + 1)
    return count


def anchors_on(cells: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return where a spawn can be anchored so that all its cells are in ``cells``; both bool (H, W)."""
    height, width = cells.shape[0] - SPAWN_SIDE + 1, cells.shape[1] - SPAWN_SIDE + 1
    fits = np.zeros_like(cells)
    fits[:height, :width] = True
    for r, c in SPAWN_SHAPE:
        fits[:height, :width] &= cells[r : r + height, c : c + width]
    return fits
