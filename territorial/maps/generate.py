"""Map generators: open land, lakes, and mountain ranges with passes.

Each kind scores every cell with integer noise and blocks the cells of lowest score, as many as its
share of the map. The outcome is smoothed with a square brush, so that every land cell lies in a
square of land as wide as the brush, and only the largest region of land is kept. A map that lost
too much land that way is drawn again from other noise; the last resort is open land, which always
works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from types import MappingProxyType

import numpy as np

from territorial.arguments import whole_number
from territorial.constants import LARGEST_SEED, MAX_SIDE, MIN_SIDE
from territorial.landmask import LandMask
from territorial.maps.noise import NOISE_UNIT, Heights, draw, fractal_noise
from territorial.maps.regions import Land, drop_small, keep_largest

MIN_LAND_PERCENT = 60
"""A generated map has at least this share of land."""
MAX_LOST_PERCENT = 4
"""A draw is refused if more than this share of the map is land cut off from the largest region."""
MAX_ATTEMPTS = 16
"""Draws before the map becomes open land."""

# Layers of noise: every attempt has its own block, and every field in it room for its octaves.
_LAYERS_PER_ATTEMPT = 64
_LAYER_SHARE, _LAYER_TERRAIN, _LAYER_PASSES = 0, 16, 32


def generate(kind: str, height: int, width: int, seed: int) -> LandMask:
    """Return the map that ``seed`` (0 to 2**64 - 1) gives for a kind of map, the same everywhere.

    Its land is one 4-connected region and at least MIN_LAND_PERCENT of the map. Raises ValueError
    for an unknown kind, or a size or seed out of range, and TypeError for other types.
    """
    if not isinstance(kind, str):
        raise TypeError(f"map kind is {kind!r}; it must be one of {', '.join(GENERATORS)}")
    if kind not in GENERATORS:
        raise ValueError(f"map kind is {kind!r}; it must be one of {', '.join(GENERATORS)}")
    height = whole_number("map height", height, MIN_SIDE, MAX_SIDE)
    width = whole_number("map width", width, MIN_SIDE, MAX_SIDE)
    seed = whole_number("map seed", seed, 0, LARGEST_SEED)
    return LandMask.from_array(GENERATORS[kind](height, width, seed))


def _open(height: int, width: int, seed: int) -> Land:
    return np.ones((height, width), np.bool_)


def _lakes(height: int, width: int, seed: int) -> Land:
    """Lakes lie in the hollows of one fractal field."""
    return _first_good_draw(_lakes_score, range(12, 21), height, width, seed)


def _mountains(height: int, width: int, seed: int) -> Land:
    """Ranges follow the middle contour of one fractal field where a second one is low."""
    return _first_good_draw(_mountains_score, range(15, 26), height, width, seed)


GENERATORS: Mapping[str, Callable[[int, int, int], Land]] = MappingProxyType(
    {"open": _open, "lakes": _lakes, "mountains": _mountains}
)
"""One generator for each of ``territorial.config.MAP_KINDS``: (height, width, seed) to land."""


def _first_good_draw(
    score: Callable[[int, int, int, int], Heights],
    percents: range,
    height: int,
    width: int,
    seed: int,
) -> Land:
    """Return the land of the first attempt that is good enough, or else open land."""
    for attempt in range(MAX_ATTEMPTS):
        layer = attempt * _LAYERS_PER_ATTEMPT
        percent = percents[draw(seed, layer + _LAYER_SHARE, 0, len(percents))]
        # Where pieces keep being cut off, as on a strip 16 cells wide, blocking less helps.
        percent = percent * (MAX_ATTEMPTS - attempt) // MAX_ATTEMPTS
        whole = _smooth(_block_lowest(score(height, width, seed, layer), percent))
        land = keep_largest(whole)
        if _is_good(land, int(whole.sum() - land.sum()), percent):
            return land
    return _open(height, width, seed)


def _is_good(land: Land, num_lost: int, percent: int) -> bool:
    """Judge a draw by its land, the cells cut off from it, and the share it was to block."""
    num_land = int(land.sum())
    has_room = 100 * num_land >= MIN_LAND_PERCENT * land.size
    is_whole = 100 * num_lost <= MAX_LOST_PERCENT * land.size
    # Smoothing can wipe out what a small map has of lakes or ranges.
    has_features = 200 * (land.size - num_land) >= percent * land.size
    return has_room and is_whole and has_features


def _wavelength(height: int, width: int, per_side: int) -> int:
    """Cells from one lattice point to the next: ``per_side`` of them make the side of a square map.

    So features scale with the map, but they stay small enough for one that is long and narrow.
    """
    return max(8, min(isqrt(height * width) // per_side, min(height, width) // 4))


def _lakes_score(height: int, width: int, seed: int, layer: int) -> Heights:
    spacing = _wavelength(height, width, 6)
    return fractal_noise(height, width, seed, layer + _LAYER_TERRAIN, spacing, _finest(spacing))


def _mountains_score(height: int, width: int, seed: int, layer: int) -> Heights:
    spacing = _wavelength(height, width, 5)
    finest = _finest(spacing)
    terrain = fractal_noise(height, width, seed, layer + _LAYER_TERRAIN, spacing, finest)
    passes = fractal_noise(height, width, seed, layer + _LAYER_PASSES, spacing, finest)
    # The first term is 0 along a ridge. With more weight, ranges get thinner, longer and closed;
    # with less, they become blobs.
    return 4 * np.abs(terrain - NOISE_UNIT // 2) + passes


def _finest(spacing: int) -> int:
    """Smallest wavelength of a fractal: coasts may be rough, but not on the scale of cells."""
    return max(4, spacing // 10)


def _block_lowest(score: Heights, percent: int) -> Land:
    """Block the ``percent`` of cells with the lowest score; ties with the last one stay land."""
    rank = score.size * percent // 100
    land: Land = score >= np.partition(score.ravel(), rank)[rank]
    return land


def _smooth(land: Land) -> Land:
    """Clear blocked specks, then close corridors of land that are narrower than the brush."""
    # On smaller maps a brush of 3 would wipe out most ranges.
    brush = 2 if min(land.shape) < 64 else 3
    blocked = drop_small(_opening(~land, brush, outside=True), 2 * brush * brush)
    return _opening(~blocked, brush, outside=False)


def _opening(cells: Land, brush: int, outside: bool) -> Land:
    """Return the union of all ``brush`` x ``brush`` squares that lie in ``cells``.

    ``outside`` says whether the cells beyond the map count as being in it.
    """
    margin = brush - 1
    padded = np.pad(cells, margin, constant_values=outside)
    for axis in (0, 1):
        padded = _slide(np.logical_and, padded, brush, axis)
    for axis in (0, 1):
        padded = _slide(np.logical_or, padded, brush, axis)
    return padded


def _slide(combine: np.ufunc, cells: Land, brush: int, axis: int) -> Land:
    """Combine every ``brush`` neighbours along an axis, which gets ``brush`` - 1 shorter."""
    size = cells.shape[axis] - brush + 1
    parts = [cells.take(range(i, i + size), axis) for i in range(brush)]
    result: Land = combine.reduce(parts)
    return result
