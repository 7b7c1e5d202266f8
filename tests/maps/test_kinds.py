"""Islands, continents, mazes, archipelagos: what their options do, and that seeds always give the same."""

import numpy as np
import pytest

from territorial.config.map_names import KINDS
from territorial.maps import capacity, generate
from territorial.maps.pieces import UNIT, cut, from_border, from_edge, spacing_of, walls
from territorial.maps.regions import label_regions
from tests.maps.support import flood


def num_regions(land):
    return int(label_regions(land).max())


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
        assert num_regions(mask.to_array()) == 1
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


def test_pieces_that_do_not_wind_are_the_cells_nearest_to_their_centres():
    pieces = cut(40, 60, 7, 3, 0, wind=0)
    cells = UNIT * np.stack(np.indices((40, 60)), axis=-1)
    squares = ((cells[:, :, None] - pieces.centres) ** 2).sum(axis=3)
    np.testing.assert_array_equal(pieces.owner, squares.argmin(axis=2))
    np.testing.assert_array_equal(pieces.nearest, squares.min(axis=2))
    apart = np.sqrt(((pieces.centres[:, None] - pieces.centres) ** 2).sum(axis=2))
    gaps = (squares - squares.min(axis=2)[:, :, None]) / np.maximum(1, 2 * apart[pieces.owner])
    gaps[pieces.owner[:, :, None] == np.arange(7)] = np.inf
    np.testing.assert_allclose(from_border(pieces), gaps.min(axis=2), atol=1.5)
    assert from_edge(pieces)[5, 30] == 5 * UNIT
    assert from_edge(pieces)[20, 57] == 2 * UNIT


@pytest.mark.parametrize("size", [(16, 1024), (1024, 16), (256, 256), (16, 16)])
@pytest.mark.parametrize("count", [2, 9, 64])
def test_windows_hold_all_that_is_near(size, count):
    if size[0] * size[1] < 100 * count:
        count = 2
    for seed in range(3):
        pieces = cut(*size, count, seed, 0, wind=min(spacing_of(*size, count) // 2, min(size) // 4))
        squares = np.stack([(pieces.rows - r) ** 2 + (pieces.columns - c) ** 2 for r, c in pieces.centres])
        np.testing.assert_array_equal(pieces.nearest, squares.min(axis=0))


@pytest.mark.parametrize("thickness", [1, 2, 3, 4, 7, 16])
def test_walls_separate_pieces_and_are_as_thick_as_asked(thickness):
    owner = np.zeros((60, 60), np.int64)
    owner[:, 30:] = 1
    np.testing.assert_array_equal(walls(owner, thickness).sum(axis=1), thickness)
    pieces = cut(80, 90, 6, 1, 0, wind=10)
    open_land = ~walls(pieces.owner, thickness)
    labels = label_regions(open_land)
    for region in range(1, labels.max() + 1):
        assert np.unique(pieces.owner[labels == region]).size == 1
