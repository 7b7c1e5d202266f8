"""The counter RNG: a number is a pure function of (seed, stream, tick, index), so any tick stands alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.jit.decorators import formula, int64, njit


@formula
def mix(z: Any) -> Any:
    """Return the SplitMix64 finaliser of ``z`` + the golden gamma (Steele, Lea, Flood 2014), uint64."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@formula
def draw(seed: Any, stream: int, tick: Any, index: Any) -> Any:
    """Return H(seed, stream, tick, index): 64 random bits as uint64; ``stream``s are in constants."""
    z = mix(mix(seed) ^ np.uint64(stream))
    return mix(mix(z ^ np.uint64(tick)) ^ np.uint64(index))


@njit
def draw_below(bound: int, seed: Any, stream: int, tick: int, index: int) -> int:
    """Return a whole number from 0 to ``bound`` - 1 (bias below bound / 2**64), as int64."""
    return int64(draw(seed, stream, tick, index) % np.uint64(bound))


@njit
def sort_by_key(items: Any, keys: Any, count: int) -> None:
    """Sort the first ``count`` ``items`` by rising key: insertion sort, as there are few."""
    for i in range(1, count):
        item, key = items[i], keys[i]
        j = i - 1
        while j >= 0 and keys[j] > key:
            items[j + 1], keys[j + 1] = items[j], keys[j]
            j -= 1
        items[j + 1], keys[j + 1] = item, key
