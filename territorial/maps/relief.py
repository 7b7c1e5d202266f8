"""Maps made of noise alone: lakes, mountain ranges with passes, an archipelago.

Each kind scores every cell with integer noise and blocks the cells of lowest score, as many as its
share of the map. The outcome is smoothed with a square brush, so that every land cell lies in a
square of land as wide as the brush. Of lakes and mountains only the largest region of land is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt

import numpy as np

from territorial.maps.attempts import first_good
from territorial.maps.noise import NOISE_UNIT, Heights, draw, fractal_noise
from territorial.maps.regions import Land, drop_small, keep_largest, label_regions
from territorial.maps.smoothing import block_lowest, smooth

MIN_LAND_PERCENT = 60
"""A map of lakes or mountains has at least this share of land."""
MAX_LOST_PERCENT = 4
"""A draw is refused if more than this share of the map is land cut off from the largest region."""
MIN_MAIN_PERCENT = 10
"""The main island of an archipelago has at least this share of the map."""
SMALLEST_ISLAND = 16
"""Cells; smaller ones are left out of an archipelago."""

_LAYER_SHARE, _LAYER_TERRAIN, _LAYER_PASSES = 0, 16, 32
_LAKES, _MOUNTAINS = range(12, 21), range(15, 26)
"""Per cent that are blocked, drawn by the seed where nothing else is asked for."""

Options = Mapping[str, int]
Score = Callable[[int, int, int, int, int], Heights]


def open_land(height: int, width: int, seed: int, options: Options) -> Land:
    """Return land everywhere."""
    return np.ones((height, width), np.bool_)


def lakes(height: int, width: int, seed: int, options: Options) -> Land:
    """Return land with lakes in the hollows of one fractal field."""
    return _blocked_draw(_lakes_score, _LAKES, height, width, seed, options)


def mountains(height: int, width: int, seed: int, options: Options) -> Land:
    """Return land with ranges along the middle contour of one fractal field where a second one is low."""
    return _blocked_draw(_mountains_score, _MOUNTAINS, height, width, seed, options)


def archipelago(height: int, width: int, seed: int, options: Options) -> Land:
    """Return islands where one fractal field is high; the middle of the map is raised for the main island."""

    def attempt(layer: int, sixteenths: int) -> Land | None:
        score = _islands_score(height, width, seed, layer + _LAYER_TERRAIN, options["per_side"])
        land = drop_small(smooth(block_lowest(score, options["blocked"] * sixteenths // 16)), SMALLEST_ISLAND)
        sizes = np.bincount(label_regions(land).ravel())[1:]
        # A small map may have room for one island only.
        has_several = sizes.size > 1 or land.size < 64 * 64
        return land if has_several and 100 * sizes.max() >= MIN_MAIN_PERCENT * land.size else None

    return first_good(attempt, height, width)


def _blocked_draw(
    score: Score, percents: range, height: int, width: int, seed: int, options: Options
) -> Land:
    """Return the land of the first draw that is good enough."""

    def attempt(layer: int, sixteenths: int) -> Land | None:
        percent = options["blocked"] or percents[draw(seed, layer + _LAYER_SHARE, 0, len(percents))]
        percent = percent * sixteenths // 16
        whole = smooth(block_lowest(score(height, width, seed, layer, options["per_side"]), percent))
        land = keep_largest(whole)
        return land if _is_good(land, int(whole.sum() - land.sum()), percent) else None

    return first_good(attempt, height, width)


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


def _lakes_score(height: int, width: int, seed: int, layer: int, per_side: int) -> Heights:
    spacing = _wavelength(height, width, per_side)
    return fractal_noise(height, width, seed, layer + _LAYER_TERRAIN, spacing, _finest(spacing))


def _mountains_score(height: int, width: int, seed: int, layer: int, per_side: int) -> Heights:
    spacing = _wavelength(height, width, per_side)
    finest = _finest(spacing)
    terrain = fractal_noise(height, width, seed, layer + _LAYER_TERRAIN, spacing, finest)
    passes = fractal_noise(height, width, seed, layer + _LAYER_PASSES, spacing, finest)
    # The first term is 0 along a ridge. With more weight, ranges get thinner, longer and closed;
    # with less, they become blobs.
    return 4 * np.abs(terrain - NOISE_UNIT // 2) + passes


def _islands_score(height: int, width: int, seed: int, layer: int, per_side: int) -> Heights:
    spacing = _wavelength(height, width, per_side)
    noise = fractal_noise(height, width, seed, layer, spacing, _finest(spacing))
    rows, columns = np.arange(height, dtype=np.int64), np.arange(width, dtype=np.int64)
    from_edge = np.minimum(
        np.minimum(rows, rows[::-1])[:, None] * NOISE_UNIT // height,
        np.minimum(columns, columns[::-1])[None, :] * NOISE_UNIT // width,
    )
    score: Heights = noise + np.minimum(from_edge, NOISE_UNIT // 3)
    return score


def _finest(spacing: int) -> int:
    """Smallest wavelength of a fractal: coasts may be rough, but not on the scale of cells."""
    return max(4, spacing // 10)
