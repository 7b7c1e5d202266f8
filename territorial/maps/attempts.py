"""Drawing a map again until it is good: each attempt has layers of noise of its own, and blocks less."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from territorial.maps.regions import Land

MAX_ATTEMPTS = 16
"""Draws before the map becomes open land."""
_LAYERS_PER_ATTEMPT = 64
LAYERS_OF_ALL_ATTEMPTS = MAX_ATTEMPTS * _LAYERS_PER_ATTEMPT
"""The first layer of noise that no attempt uses."""


def first_good(draw: Callable[[int, int], Land | None], height: int, width: int) -> Land:
    """Return the first land that ``draw`` is content with, or else open land.

    ``draw`` takes the first of the 64 layers of an attempt, and how many 16ths of what it would
    block it may. Where pieces keep being cut off, as on a strip 16 cells wide, blocking less helps.
    """
    for attempt in range(MAX_ATTEMPTS):
        land = draw(attempt * _LAYERS_PER_ATTEMPT, MAX_ATTEMPTS - attempt)
        if land is not None:
            return land
    return np.ones((height, width), np.bool_)
