"""Room for spawns, against the definition carried out cell by cell."""

import numpy as np
import pytest

from territorial.config.land_mask import LandMask
from territorial.maps import capacity, generate

SHAPE = [(r, c) for r in range(4) for c in range(4) if {r, c} not in ({0}, {3}, {0, 3})]


def plain_capacity(mask):
    land = mask.to_array()
    count = 0
    for r in range(mask.height - 3):
        for c in range(mask.width - 3):
            cells = [(r + dr, c + dc) for dr, dc in SHAPE]
            if all(land[cell] for cell in cells):
                count += 1
                for cell in cells:
                    land[cell] = False
    return count


@pytest.mark.parametrize("size", [(16, 16), (17, 33), (30, 16), (64, 64)])
def test_open_and_generated_maps(size):
    for kind in ("open", "lakes", "mountains"):
        mask = generate(kind, *size, 2)
        assert capacity(mask) == plain_capacity(mask)


@pytest.mark.parametrize("percent", [0, 50, 70, 85, 95, 99])
def test_ragged_maps(percent):
    rng = np.random.default_rng(percent)
    for height, width in ((16, 16), (16, 41), (35, 19)):
        mask = LandMask.from_array(rng.integers(100, size=(height, width)) < percent)
        assert capacity(mask) == plain_capacity(mask)


def test_a_spawn_may_lie_in_the_last_corner_and_needs_no_corners_itself():
    land = np.zeros((16, 16), bool)
    for r, c in SHAPE:
        land[12 + r, 12 + c] = True
    assert capacity(LandMask.from_array(land)) == 1
    land[13, 12] = False
    assert capacity(LandMask.from_array(land)) == 0


def test_counting_stops_at_enough():
    mask = generate("lakes", 64, 64, 0)
    everything = capacity(mask)
    assert capacity(mask, enough=everything + 1) == everything
    assert capacity(mask, enough=32) == 32
    assert capacity(mask, enough=0) == 0
