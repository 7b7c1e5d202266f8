"""Bridges: they join everything, are as short as they can be, and make no more loops than asked for."""

import numpy as np
import pytest

from territorial.maps.bridges import draw_line, join, plan_bridges
from territorial.maps.regions import label_regions
from tests.maps.support import flood


def scattered(seed, height=40, width=56, share=0.04):
    """Blobs of land in the sea."""
    seeds = np.random.default_rng(seed).random((height, width)) < share
    land = seeds.copy()
    land[1:] |= seeds[:-1]
    land[:, 1:] |= land[:, :-1].copy()
    return land


@pytest.mark.parametrize("width", [1, 2, 3, 24])
@pytest.mark.parametrize("at_random", [False, True])
def test_all_land_is_one_region_afterwards(width, at_random):
    for seed in range(6):
        land = scattered(seed)
        assert len(flood(land)) > 5
        joined = join(land, width, 0, seed, 0, at_random=at_random)
        assert len(flood(joined)) == 1
        assert not (land & ~joined).any()


def test_what_hangs_together_is_left_alone():
    land = np.zeros((20, 20), bool)
    assert not join(land, 3, 100, 0, 0).any()
    land[3:9, 4:8] = True
    np.testing.assert_array_equal(join(land, 3, 100, 0, 0), land)


@pytest.mark.parametrize("at_random", [False, True])
def test_a_tree_of_bridges_has_one_less_than_there_are_regions(at_random):
    for seed in range(8):
        land = scattered(seed)
        labels = label_regions(land).ravel()
        bridges = plan_bridges(land, 0, seed, 0, at_random=at_random)
        assert len(bridges) == labels.max() - 1
        assert all(labels[start] > 0 < labels[end] and labels[start] != labels[end] for start, end in bridges)
        every = plan_bridges(land, 100, seed, 0, at_random=at_random)
        half = plan_bridges(land, 50, seed, 0, at_random=at_random)
        assert len(half) == len(bridges) + (len(every) - len(bridges)) // 2
        assert len({frozenset((labels[start], labels[end])) for start, end in every}) == len(every)


def test_the_shortest_bridges_are_taken():
    land = np.zeros((16, 40), bool)
    land[4:12, 0:4] = land[4:12, 8:12] = land[4:12, 30:34] = True
    land[0, 0:34] = False
    ends = [sorted((start % 40, end % 40)) for start, end in plan_bridges(land, 0, 5, 0)]
    assert sorted(ends) == [[3, 8], [11, 30]]


@pytest.mark.parametrize("width", [1, 2, 5])
def test_lines_hang_together_and_stay_on_the_map(width):
    rng = np.random.default_rng(width)
    for _ in range(200):
        land = np.zeros((17, 23), bool)
        start, end = rng.integers(0, land.size, 2).tolist()
        draw_line(land, start, end, width)
        assert land.ravel()[[start, end]].all()
        assert len(flood(land)) == 1
        (r0, c0), (r1, c1) = divmod(start, 23), divmod(end, 23)
        inside = np.argwhere(land)
        assert inside[:, 0].min() >= min(r0, r1) - width
        assert inside[:, 1].max() <= max(c0, c1) + width
