"""Lands of the real world, 256 x 256 cells each."""

from functools import cache
from pathlib import Path

import numpy as np

from territorial.config.land_mask import LandMask
from territorial.config.map_names import LANDS, parse_map_name
from territorial.config.validation import check_type, whole_number
from territorial.constants import MAX_SIDE, MIN_SIDE
from territorial.files.png import read_png
from territorial.maps.bridges import join
from territorial.maps.regions import Land, drop_small, keep_largest
from territorial.typing import Ints


def resized(cells: Land, height: int, width: int) -> Land:
    """Return (height, width) cells, each land if at least half of its area in ``cells`` is."""
    if cells.shape == (height, width):
        return cells
    covered = _overlaps(height, cells.shape[0]) @ cells.astype(np.int64) @ _overlaps(width, cells.shape[1]).T
    return 2 * covered >= cells.size


def _overlaps(new: int, old: int) -> Ints:
    """Return how much of each of ``old`` parts of a line each of ``new`` parts covers, int64 (new, old).

    The unit is 1 / (new * old) of the line, so a new part is ``old`` units long.
    """
    first, begin = np.arange(new)[:, None] * old, np.arange(old)[None, :] * new
    return np.clip(np.minimum(first + old, begin + new) - np.maximum(first, begin), 0, None)


LAND_SIDE = 256
"""Rows and columns that lands are kept in."""
SMALLEST_ISLAND = 40
"""Cells; smaller islands get no bridge."""

_FOLDER = Path(__file__).parent / "lands"


def land(name: str, height: int = LAND_SIDE, width: int = LAND_SIDE, *, connected: bool = True) -> LandMask:
    """Return a land of the real world, such as "europe", or "world:bridges=3"; see ``map_names.LANDS``.

    As there are no boats, its land is the largest 4-connected region, and what bridges join to it;
    ``connected=False`` gives all of it, bridges or not. Sizes other than 256 x 256 are made from that:
    a cell is land if half of it is. Raises ValueError for an unknown name or option, or a size out of range.
    """
    check_type("land", name, str, f"one of {', '.join(LANDS)}")
    parsed = parse_map_name(name, LANDS, "land")
    height = whole_number("map height", height, MIN_SIDE, MAX_SIDE)
    width = whole_number("map width", width, MIN_SIDE, MAX_SIDE)
    cells = resized(_kept(parsed.name).to_array(), height, width)
    if not connected:
        return LandMask.from_array(cells)
    if bridges := parsed.options["bridges"]:
        cells = join(drop_small(cells, SMALLEST_ISLAND) | keep_largest(cells), bridges, 0, 0, 0)
    return LandMask.from_array(keep_largest(cells))


@cache
def _kept(name: str) -> LandMask:
    """Return a land as it is kept."""
    pixels = read_png((_FOLDER / f"{name}.png").read_bytes(), LAND_SIDE, LAND_SIDE)
    return LandMask.from_array(pixels[:, :, 0] == 255)
