"""Generated maps: connected, the same everywhere, of the promised shares; and maps of one's own."""

import re
import sys

import numpy as np
import pytest

from territorial.config import MAP_KINDS, GameConfig
from territorial.config.land_mask import LandMask
from territorial.constants import STREAM_MAP_GENERATOR
from territorial.maps import check_connected, generate, largest_region, make_maps, relief
from territorial.maps.generate import GENERATORS
from territorial.maps.noise import NOISE_UNIT, draw, fractal_noise, layer_words, value_noise
from territorial.maps.regions import drop_small, label_regions
from territorial.maps.relief import MIN_LAND_PERCENT, MIN_MAIN_PERCENT
from tests.maps.support import flood

SIZES = ((16, 16), (17, 33), (33, 17), (24, 250), (16, 1024), (1024, 16), (64, 64), (101, 99))
WORD = 2**64


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def plain_hash(seed, stream, tick, index):
    return mix(mix(mix(mix(seed) ^ stream) ^ tick) ^ index)


def test_every_kind_of_map_in_the_configuration_has_a_generator():
    assert tuple(GENERATORS) == MAP_KINDS


LEAST_LAND = {"open": 100, "lakes": MIN_LAND_PERCENT, "mountains": MIN_LAND_PERCENT} | {
    "islands": 41,
    "continents": 45,
    "maze": 60,
    "archipelago": MIN_MAIN_PERCENT,
}
"""Per cent of the map, at least, whatever the seed."""


@pytest.mark.parametrize("kind", MAP_KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_land_is_one_region_and_enough_of_the_map(kind, size):
    for seed in (0, 1, WORD - 1):
        mask = generate(kind, *size, seed)
        assert (mask.height, mask.width) == size
        assert len(flood(mask.to_array())) == 1
        assert 100 * mask.num_land >= LEAST_LAND[kind] * size[0] * size[1]


def test_open_maps_are_all_land():
    assert generate("open", 16, 21, 7).num_land == 16 * 21


@pytest.mark.parametrize(("kind", "low", "high"), [("lakes", 11, 25), ("mountains", 11, 30)])
def test_blocked_share_of_big_maps(kind, low, high):
    cells = 256 * 256
    shares = [100 * (1 - generate(kind, 256, 256, seed).num_land / cells) for seed in range(20)]
    assert low <= min(shares)
    assert max(shares) <= high


@pytest.mark.parametrize("kind", ["lakes", "mountains"])
def test_every_land_cell_lies_in_a_square_of_land(kind):
    for height, width, brush in ((16, 30, 2), (128, 90, 3)):
        land = generate(kind, height, width, 3).to_array()
        covered = np.zeros_like(land)
        for r in range(height - brush + 1):
            for c in range(width - brush + 1):
                square = np.s_[r : r + brush, c : c + brush]
                covered[square] |= land[square].all()
        np.testing.assert_array_equal(covered, land)


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
}


@pytest.mark.parametrize(("kind", "height", "width", "seed"), GOLDEN)
def test_a_seed_always_gives_the_same_map(kind, height, width, seed):
    digest = GOLDEN[kind, height, width, seed]
    assert generate(kind, height, width, seed).hexdigest == digest
    assert generate(kind, height, width, np.uint64(seed)).hexdigest == digest


@pytest.mark.parametrize("kind", ["lakes", "mountains"])
def test_different_seeds_give_different_maps(kind):
    for height, width in ((16, 16), (48, 48), (16, 200)):
        assert len({generate(kind, height, width, seed) for seed in range(40)}) == 40


def test_hopeless_draws_end_in_open_land(monkeypatch):
    monkeypatch.setattr(relief, "_is_good", lambda *_: False)
    assert generate("mountains", 16, 16, 0).num_land == 256


def test_unknown_kinds_and_seeds_are_named():
    with pytest.raises(ValueError, match="'swamp'; it must be one of open, lakes, mountains"):
        generate("swamp", 32, 32, 0)
    for seed in (-1, WORD):
        with pytest.raises(ValueError, match=f"map seed is {seed}"):
            generate("lakes", 32, 32, seed)
    with pytest.raises(ValueError, match="map height is 15"):
        generate("lakes", 15, 32, 0)
    with pytest.raises(ValueError, match="map width is 1025"):
        generate("open", 32, 1025, 0)


@pytest.mark.parametrize("kind", [None, 5, b"lakes", ["lakes"], {}, np.array(["lakes", "open"])])
def test_kinds_that_are_no_names_are_refused(kind):
    message = f"map kind is {kind!r}; it must be one of open, lakes, mountains"
    with pytest.raises(TypeError, match=re.escape(message)):
        generate(kind, 32, 32, 0)


@pytest.mark.parametrize("value", ["32", None, 32.0, True, False, np.True_, [32], np.float64(32), 32 + 0j])
@pytest.mark.parametrize(
    ("name", "allowed"),
    [("height", "from 16 to 1024"), ("width", "from 16 to 1024"), ("seed", f"from 0 to {2**64 - 1}")],
)
def test_sizes_and_seeds_are_whole_numbers(name, allowed, value):
    message = f"map {name} is {value!r}; it must be a whole number {allowed}"
    for kind in ("open", "lakes"):
        with pytest.raises(TypeError, match=re.escape(message)):
            generate(kind, **{"height": 32, "width": 32, "seed": 0, name: value})


def test_input_is_checked_before_any_work(monkeypatch):
    module = sys.modules[generate.__module__]
    monkeypatch.setattr(module, "GENERATORS", {"lakes": lambda *_: pytest.fail("work was done")})
    for size in ((15, 32), (32, 15), (2**40, 32), (32, -1)):
        with pytest.raises(ValueError, match="it must be a whole number from 16 to 1024"):
            generate("lakes", *size, 0)


def test_numpy_integers_are_whole_numbers():
    mask = generate("mountains", np.int32(17), np.uint8(33), np.int16(9))
    assert mask == generate("mountains", 17, 33, 9)
    assert (type(mask.height), type(mask.width)) == (int, int)


def test_random_words_are_the_counter_rng_of_the_rules():
    indices = [0, 1, 2**32 + 5, WORD - 1]
    for seed in (0, 12345, WORD - 1):
        words = layer_words(seed, 17, np.array(indices, np.uint64))
        expected = [plain_hash(seed, STREAM_MAP_GENERATOR, 17, index) for index in indices]
        assert words.tolist() == expected
        assert draw(seed, 17, 5, 9) == plain_hash(seed, STREAM_MAP_GENERATOR, 17, 5) % 9


def test_value_noise_meets_its_lattice_and_its_range():
    seed, layer, spacing = 5, 3, 8
    noise = value_noise(40, 50, seed, layer, spacing)
    row_phase, column_phase = divmod(draw(seed, layer, WORD - 1, spacing * spacing), spacing)
    for i, j in ((1, 1), (2, 4), (4, 5)):
        word = plain_hash(seed, STREAM_MAP_GENERATOR, layer, (i << 32) | j)
        assert noise[i * spacing - row_phase, j * spacing - column_phase] == word >> 48
    fractal = fractal_noise(300, 300, seed, layer, 64, 4)
    for field in (noise, fractal):
        assert field.dtype == np.int64
        assert field.min() >= 0
        assert field.max() < NOISE_UNIT


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
        big_enough = sum(n for n, _ in expected if n >= 4)
        assert drop_small(land, 4).sum() == big_enough


def test_a_spiral_is_one_region():
    land = np.zeros((63, 63), bool)
    r, c, dr, dc = 0, 0, 0, 1
    land[0, 0] = True
    for run in (62, *(n for n in range(62, 0, -2) for _ in (0, 1))):
        for _ in range(run):
            r, c = r + dr, c + dc
            land[r, c] = True
        dr, dc = dc, -dr
    assert len(flood(land)) == 1
    assert label_regions(land).max() == 1


TWO_REGIONS = LandMask.from_text("\n".join(["....##.........."] * 4 + ["################"] * 12))


def test_largest_region_blocks_all_other_land():
    kept = largest_region(TWO_REGIONS)
    assert kept.num_land == 40
    check_connected(kept)
    assert largest_region(kept) == kept


def test_of_equal_regions_the_first_is_kept():
    land = np.zeros((16, 16), bool)
    land[3, 9:12] = land[5, 1:4] = True
    assert np.argwhere(largest_region(LandMask.from_array(land)).to_array())[0].tolist() == [3, 9]


def test_maps_of_ones_own_must_be_one_region():
    message = r"2 regions, the second beginning at row 0, column 6; .*largest_region\(mask\)"
    with pytest.raises(ValueError, match=message):
        make_maps(GameConfig.for_map(TWO_REGIONS, num_players=2))
    mask = largest_region(TWO_REGIONS)
    assert make_maps(GameConfig.for_map(mask, num_players=2)) == [mask]


def test_a_map_without_land_is_refused():
    empty = LandMask.from_array(np.zeros((16, 16), bool))
    for refuse in (check_connected, largest_region):
        with pytest.raises(ValueError, match="no land"):
            refuse(empty)


@pytest.mark.parametrize("land", [np.ones((16, 16), bool), [[1] * 16] * 16, None, "lakes"])
@pytest.mark.parametrize("function", [check_connected, largest_region])
def test_only_masks_have_regions(function, land):
    message = rf"mask is of type {type(land).__name__}; it must be a LandMask, which LandMask"
    with pytest.raises(TypeError, match=message):
        function(land)


@pytest.mark.parametrize("config", [None, "lakes", TWO_REGIONS])
def test_a_bank_is_that_of_a_configuration(config):
    with pytest.raises(TypeError, match=r"config is .*; it must be a territorial\.GameConfig"):
        make_maps(config)


def test_a_bank_counts_its_seeds_up_and_round():
    config = GameConfig(height=32, width=40, num_players=4, map_seed=WORD - 1, num_maps=3)
    assert make_maps(config) == [generate("lakes", 32, 40, seed) for seed in (WORD - 1, 0, 1)]
