"""Generated maps: connected, the same everywhere, of the promised shares; what options do; bridges."""

import re
import sys

import numpy as np
import pytest

from territorial.config import MAP_KINDS, GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.map_names import KINDS
from territorial.maps import capacity, check_connected, generate, largest_region, make_maps, map_of
from territorial.maps.bridges import draw_line, join, plan_bridges
from territorial.maps.generate import (
    GENERATORS,
    MIN_LAND_PERCENT,
    MIN_MAIN_PERCENT,
    cut,
    spacing_of,
)
from territorial.maps.regions import drop_small, label_regions
from tests.maps.support import flood

SIZES = ((16, 16), (17, 33), (33, 17), (24, 250), (16, 1024), (1024, 16), (64, 64), (101, 99))
WORD = 2**64


# Per cent of the map, at least, whatever the seed.
LEAST_LAND = {"open": 100, "lakes": MIN_LAND_PERCENT, "mountains": MIN_LAND_PERCENT} | {
    "islands": 41,
    "continents": 45,
    "maze": 60,
    "archipelago": MIN_MAIN_PERCENT,
}


@pytest.mark.parametrize("kind", MAP_KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_land_is_one_region_and_enough_of_the_map(kind, size):
    for seed in (0, 1, WORD - 1):
        mask = generate(kind, *size, seed)
        assert ((mask.height, mask.width), len(flood(mask.to_array()))) == (size, 1)
        assert 100 * mask.num_land >= LEAST_LAND[kind] * size[0] * size[1]


# A configuration names its maps by kind and seed, so RULES_VERSION moves when these do. A failing
# test shows the new digest.
GOLDEN = {
    ("lakes", 16, 16, 0): "4a36c685381a0cb7",
    ("lakes", 17, 33, 1): "a3035151016333ca",
    ("lakes", 40, 1024, 2): "e08b38d9cb597fe2",
    ("lakes", 256, 256, 0): "1f412f3249eb382a",
    ("lakes", 256, 256, WORD - 1): "b08fbd770bd4ff0b",
    ("mountains", 16, 16, 0): "c5b42acb2cdad114",
    ("mountains", 33, 17, 1): "2e372dc1d50ccea1",
    ("mountains", 256, 256, 0): "d74decbb832001d4",
    ("mountains", 256, 256, 1): "2978270a93c4eecb",
    ("mountains", 1024, 1024, 5): "a2725fd3441b210e",
    ("lakes", 1024, 1024, 5): "2b8d6e23c94c8820",
    ("islands", 256, 256, 0): "511362a8bd8eda24",
    ("islands:count=6,bridges=1,loops=100", 64, 80, 2**64 - 1): "7306ed52d59aed37",
    ("continents", 256, 256, 0): "8e406cd7c6f64fc5",
    ("continents", 16, 16, 5): "1268659c840b3f61",
    ("maze", 256, 256, 0): "593053c8f17db208",
    ("maze:count=400,walls=3,bridges=2", 250, 1000, 3): "8c482f9ddbbb6d63",
    ("archipelago", 256, 256, 0): "f64cab7c4d789f60",
    ("archipelago:blocked=80", 33, 90, 1): "14556d407db30960",
    ("lakes:blocked=30,per_side=12", 256, 256, 0): "8e042c0a6a6059ce",
    ("mountains:symmetry=quarter_turn", 101, 101, 0): "f0a2d945a02a7d23",
    ("islands:symmetry=half_turn", 99, 128, 4): "c3e7c4f8f0778976",
    ("continents:symmetry=two_mirrors", 128, 65, 9): "1eb1d82c711da44f",
    ("maze:symmetry=mirror", 64, 64, 1): "a314d4c430504011",
}


@pytest.mark.parametrize(("kind", "height", "width", "seed"), GOLDEN)
def test_a_seed_always_gives_the_same_map(kind, height, width, seed):
    digest = GOLDEN[kind, height, width, seed]
    assert generate(kind, height, width, seed).hexdigest == digest
    assert generate(kind, height, width, np.uint64(seed)).hexdigest == digest


ARRAY = np.ones((16, 16), bool)
WHOLE_NUMBER = "it must be a whole number from"
REFUSED = [
    (generate, ("swamp", 32, 32, 0), ValueError, "'swamp'; it must be one of open, lakes, mountains"),
    *(
        (generate, (kind, 32, 32, 0), TypeError, f"map kind is {kind!r}; it must be one of open, lakes")
        for kind in (None, 5, b"lakes", ["lakes"], {}, np.array(["lakes", "open"]))
    ),
    *(
        (generate, ("lakes", 32, 32, seed), ValueError, f"map seed is {seed}; {WHOLE_NUMBER} 0 to {WORD - 1}")
        for seed in (-1, WORD)
    ),
    *(
        (generate, ("lakes", *size, 0), ValueError, f"map {name} is {value}; {WHOLE_NUMBER} 16 to 1024")
        for size, name, value in (
            ((15, 32), "height", 15),
            ((32, 15), "width", 15),
            ((2**40, 32), "height", 2**40),
            ((32, -1), "width", -1),
            ((32, 1025), "width", 1025),
        )
    ),
    *(
        (generate, (kind, *sizes), TypeError, f"map {name} is {value!r}; {WHOLE_NUMBER}")
        for kind in ("open", "lakes")
        for value in ("32", None, 32.0, True, np.True_, [32], np.float64(32), 32 + 0j)
        for name, sizes in (
            ("height", (value, 32, 0)),
            ("width", (32, value, 0)),
            ("seed", (32, 32, value)),
        )
    ),
    *(
        (function, (land,), TypeError, "; it must be a LandMask, which")
        for function in (check_connected, largest_region, capacity)
        for land in (ARRAY, ARRAY.tolist(), None, "lakes")
    ),
    *(
        (function, (LandMask.from_array(~ARRAY),), ValueError, "no land")
        for function in (check_connected, largest_region)
    ),
    *(
        (function, (config, *seed), TypeError, "it must be a territorial.GameConfig")
        for function, seed in ((make_maps, ()), (map_of, (0,)))
        for config in (None, "lakes", LandMask.from_array(ARRAY))
    ),
    *(
        (map_of, (GameConfig(), seed), error, "seed is")
        for seed, error in (("1", TypeError), (-1, ValueError), (WORD, ValueError), (True, TypeError))
    ),
    (make_maps, (GameConfig(num_maps=0),), ValueError, "num_maps is 0, so each game has its own map"),
    *(
        (capacity, (LandMask.from_array(ARRAY), enough), error, f"enough is {enough!r}; {WHOLE_NUMBER} 0 to")
        for enough, error in (("3", TypeError), (3.0, TypeError), (True, TypeError), (-1, ValueError))
    ),
]


@pytest.mark.parametrize(("function", "arguments", "error", "message"), REFUSED)
def test_what_cannot_be_is_refused_before_any_work(function, arguments, error, message, monkeypatch):
    generators = dict.fromkeys(GENERATORS, lambda *_: pytest.fail("work was done"))
    monkeypatch.setattr(sys.modules[generate.__module__], "GENERATORS", generators)
    with pytest.raises(error, match=re.escape(message)):
        function(*arguments)


def test_hopeless_draws_end_in_open_land(monkeypatch):
    monkeypatch.setattr(sys.modules[generate.__module__], "_is_good", lambda *_: False)
    assert generate("mountains", 16, 16, 0).num_land == 256


@pytest.mark.parametrize("percent", [0, 10, 45, 60, 75, 100])
def test_regions_are_those_of_a_flood_fill(percent):
    rng = np.random.default_rng(percent)
    for height, width in ((1, 1), (1, 40), (40, 1), (23, 31), (40, 40)):
        land = rng.integers(100, size=(height, width)) < percent
        labels = label_regions(land)
        expected = flood(land)
        np.testing.assert_array_equal(labels > 0, land)
        assert np.bincount(labels[land], minlength=1)[1:].tolist() == [n for n, _ in expected]
        assert [labels[first] for _, first in expected] == list(range(1, len(expected) + 1))
        assert drop_small(land, 4).sum() == sum(n for n, _ in expected if n >= 4)


def test_a_path_that_winds_is_one_region():
    land = np.ones((63, 63), bool)
    land[1::4, :-1] = land[3::4, 1:] = False
    assert (len(flood(land)), label_regions(land).max()) == (1, 1)


TWO_REGIONS = LandMask.from_text("\n".join(["....##.........."] * 4 + ["################"] * 12))


def test_largest_region_blocks_all_other_land_and_of_equal_ones_the_first_is_kept():
    kept = largest_region(TWO_REGIONS)
    assert kept.num_land == 40
    check_connected(kept)
    assert largest_region(kept) == kept
    land = np.zeros((16, 16), bool)
    land[3, 9:12] = land[5, 1:4] = True
    assert np.argwhere(largest_region(LandMask.from_array(land)).to_array())[0].tolist() == [3, 9]


def test_a_bank_counts_its_seeds_up_and_round():
    config = GameConfig(height=32, width=40, num_players=4, map_seed=WORD - 1, num_maps=3)
    assert make_maps(config) == [generate("lakes", 32, 40, seed) for seed in (WORD - 1, 0, 1)]


def test_an_option_at_its_default_changes_nothing():
    for kind, description in KINDS.items():
        options = ",".join(f"{o.name}={o.shown(o.default)}" for o in description.options)
        assert generate(f"{kind}:{options}", 48, 48, 3) == generate(kind, 48, 48, 3)


@pytest.mark.parametrize(
    ("kind", "option"),
    [(kind, option) for kind, one in KINDS.items() for option in one.options if not option.words],
    ids=lambda value: getattr(value, "name", value),
)
def test_every_option_at_both_ends_gives_a_map_of_its_own(kind, option):
    low, high = (generate(f"{kind}:{option.name}={end}", 96, 96, 1) for end in (option.low, option.high))
    assert low != high
    for mask in (low, high):
        assert label_regions(mask.to_array()).max() == 1
        assert mask.num_land < 96 * 96, "no draw was good enough"


def test_an_archipelago_has_one_island_in_play_and_others_for_boats():
    for seed in range(4):
        played = generate("archipelago", 256, 256, seed)
        whole = generate("archipelago", 256, 256, seed, connected=False)
        regions = flood(whole.to_array())
        assert len(regions) >= 4
        assert played.num_land == max(size for size, _ in regions)
        assert not (played.to_array() & ~whole.to_array()).any()
        assert capacity(played, 250) == 250


# ---- pieces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(16, 1024), (1024, 16), (256, 256), (16, 16)])
@pytest.mark.parametrize("count", [2, 9, 64])
def test_windows_hold_all_that_is_near(size, count):
    if size[0] * size[1] < 100 * count:
        count = 2
    for seed in range(3):
        pieces = cut(*size, count, seed, 0, wind=min(spacing_of(*size, count) // 2, min(size) // 4))
        squares = np.stack([(pieces.rows - r) ** 2 + (pieces.columns - c) ** 2 for r, c in pieces.centres])
        np.testing.assert_array_equal(pieces.nearest, squares.min(axis=0))


# ---- bridges -----------------------------------------------------------------------------------------


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
