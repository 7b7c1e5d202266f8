"""Islands, continents, mazes, archipelagos: what their options do, and that seeds always give the same."""

from itertools import pairwise

import numpy as np
import pytest

from territorial.config.map_names import KINDS, SYMMETRIES
from territorial.maps import capacity, generate
from territorial.maps.pieces import UNIT, cut, from_border, from_edge, spacing_of, walls
from territorial.maps.regions import drop_small, label_regions
from tests.maps.support import flood


def num_regions(land):
    return int(label_regions(land).max())


def without_bridges(land, width):
    """Land that lies in some square wider than a bridge."""
    side = width + 3
    inner = np.lib.stride_tricks.sliding_window_view(np.pad(land, side), (side, side)).all(axis=(2, 3))
    covered = np.zeros_like(np.pad(land, side))
    for r, c in np.argwhere(inner):
        covered[r : r + side, c : c + side] = True
    return drop_small(covered[side:-side, side:-side], 60)


# A configuration names its maps by kind, options and seed: RULES_VERSION moves when these digests do.
GOLDEN = {
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
    assert generate(kind, height, width, seed).hexdigest == GOLDEN[kind, height, width, seed]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "open"])
def test_different_seeds_give_different_maps(kind):
    for height, width in ((32, 32), (16, 100)):
        assert len({generate(kind, height, width, seed) for seed in range(20)}) == 20


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


@pytest.mark.parametrize("count", [4, 9, 16])
def test_there_are_about_as_many_islands_as_asked_for(count):
    for seed in range(4):
        land = generate(f"islands:count={count},bridges=3,loops=0", 256, 256, seed).to_array()
        assert 0.7 * count <= num_regions(without_bridges(land, 3)) <= 1.5 * count


def test_more_loops_are_more_bridges():
    land = [generate(f"islands:count=16,loops={loops}", 256, 256, 0).to_array() for loops in (0, 50, 100)]
    assert land[0].sum() < land[1].sum() < land[2].sum()
    for few, more in pairwise(land):
        assert not (few & ~more).any()


@pytest.mark.parametrize("blocked", [25, 45, 65])
def test_blocked_is_the_share_that_is_blocked(blocked):
    for kind in ("islands", "continents"):
        for seed in range(3):
            share = 100 * (1 - generate(f"{kind}:blocked={blocked}", 256, 256, seed).num_land / 65_536)
            assert blocked - 5 <= share <= blocked + 2


def test_a_maze_is_valleys_behind_walls():
    for seed in range(3):
        land = generate("maze:count=25,walls=6,bridges=4,loops=0", 256, 256, seed).to_array()
        valleys = num_regions(without_bridges(land, 6))
        assert 20 <= valleys <= 27
        # With no loops the passes are a tree: blocked land, with the outside, hangs together.
        around = np.pad(~land, 1, constant_values=True)
        eight = np.kron(around, np.ones((2, 2), bool))  # cells that touch at a corner get to be neighbours
        eight[:-1, :-1] |= eight[1:, 1:]
        eight[:-1, 1:] |= eight[1:, :-1]
        assert num_regions(eight) == 1


def test_an_archipelago_has_one_island_in_play_and_others_for_boats():
    for seed in range(4):
        played = generate("archipelago", 256, 256, seed)
        whole = generate("archipelago", 256, 256, seed, connected=False)
        regions = flood(whole.to_array())
        assert len(regions) >= 4
        assert played.num_land == max(size for size, _ in regions)
        assert not (played.to_array() & ~whole.to_array()).any()
        assert capacity(played, 250) == 250


def test_every_symmetry_is_offered_wherever_land_is_joined():
    with_symmetry = {kind for kind, one in KINDS.items() if any(o.words == SYMMETRIES for o in one.options)}
    assert with_symmetry == set(KINDS) - {"open", "archipelago"}


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
