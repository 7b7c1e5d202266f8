"""Generated maps: every seed gives one of each kind, the same on every machine.

``relief`` and ``patchwork`` beside this file have the kinds. A map that does not come out well is drawn
again from other noise; the last resort is open land, which always works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from territorial.config.land_mask import LandMask
from territorial.config.map_names import KINDS, MapName, check_symmetry, parse_map_name
from territorial.config.validation import whole_number
from territorial.constants import LARGEST_SEED, MAX_SIDE, MIN_SIDE
from territorial.maps import patchwork, relief
from territorial.maps.attempts import LAYERS_OF_ALL_ATTEMPTS, MAX_ATTEMPTS
from territorial.maps.noise import layer_words
from territorial.maps.regions import Land, keep_largest
from territorial.maps.smoothing import clear_specks
from territorial.maps.symmetry import symmetrized

GENERATORS: Mapping[str, Callable[[int, int, int, Mapping[str, int]], Land]] = MappingProxyType(
    {
        "open": relief.open_land,
        "lakes": relief.lakes,
        "mountains": relief.mountains,
        "islands": patchwork.islands,
        "continents": patchwork.islands,
        "maze": patchwork.maze,
        "archipelago": relief.archipelago,
    }
)
"""One generator for each of ``map_names.KINDS``: (height, width, seed, options) to land."""

_SYMMETRIC_BRIDGES = 3
"""Cells of width, where a kind has no option of that name."""


def generate(kind: str, height: int, width: int, seed: int, *, connected: bool = True) -> LandMask:
    """Return the map that ``seed`` (0 to 2**64 - 1) gives for a kind of map, the same everywhere.

    ``kind`` is a name with options or without, such as "lakes" or "islands:count=6,symmetry=mirror"; see
    ``map_names.KINDS``. The land is one 4-connected region; ``connected=False`` leaves the islands of an
    archipelago that cannot be reached. Raises ValueError for an unknown kind or option, or a size or seed
    out of range, and TypeError for other types.
    """
    if not isinstance(kind, str):
        raise TypeError(f"map kind is {kind!r}; it must be one of {', '.join(GENERATORS)}")
    name = parse_map_name(kind, KINDS, "map kind")
    height = whole_number("map height", height, MIN_SIDE, MAX_SIDE)
    width = whole_number("map width", width, MIN_SIDE, MAX_SIDE)
    seed = whole_number("map seed", seed, 0, LARGEST_SEED)
    check_symmetry(name.symmetry, height, width)
    if name.symmetry == "none":
        land = GENERATORS[name.name](height, width, seed, name.options)
    else:
        land = _symmetric(name, height, width, seed)
    return LandMask.from_array(keep_largest(land) if connected else land)


def _symmetric(name: MapName, height: int, width: int, seed: int) -> Land:
    """Return the first map of several that, made symmetric, has about as much land as it had before."""
    for attempt in range(MAX_ATTEMPTS):
        own_seed = int(layer_words(seed, LAYERS_OF_ALL_ATTEMPTS, np.array([attempt], np.uint64))[0])
        land = GENERATORS[name.name](height, width, own_seed, name.options)
        bridges = name.options.get("bridges", _SYMMETRIC_BRIDGES)
        whole = clear_specks(symmetrized(land, name.symmetry, bridges, own_seed, LAYERS_OF_ALL_ATTEMPTS))
        num_blocked, wanted = int((~whole).sum()), int((~land).sum())
        if 2 * wanted <= 3 * num_blocked <= 4 * wanted:
            return whole
    return relief.open_land(height, width, seed, name.options)
