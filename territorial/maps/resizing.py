"""Maps in other sizes."""

from __future__ import annotations

import numpy as np

from territorial.maps.regions import Land
from territorial.typing import Ints


def resized(cells: Land, height: int, width: int) -> Land:
    """Return (height, width) cells, each land if at least half of what it covers of ``cells`` is."""
    if cells.shape == (height, width):
        return cells
    covered = _overlaps(height, cells.shape[0]) @ cells.astype(np.int64) @ _overlaps(width, cells.shape[1]).T
    is_land: Land = 2 * covered >= cells.size
    return is_land


def _overlaps(new: int, old: int) -> Ints:
    """Return how much of each of ``old`` parts of a line each of ``new`` parts covers, int64 (new, old).

    The unit is 1 / (new * old) of the line, so a new part is ``old`` units long.
    """
    first, begin = np.arange(new)[:, None] * old, np.arange(old)[None, :] * new
    overlap: Ints
    overlap = np.clip(np.minimum(first + old, begin + new) - np.maximum(first, begin), 0, None)
    return overlap
