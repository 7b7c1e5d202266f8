"""Room for spawns; symmetric maps and starts: everything has its images, and games stay as they began."""

import numpy as np
import pytest

from territorial import GameConfig, LandMask
from territorial.config.map_names import KINDS
from territorial.constants import BLOCKED, SPAWN_CELLS
from territorial.maps import capacity, generate, is_symmetric, land, symmetric_start, symmetrize
from territorial.maps.symmetry import images
from tests.maps.support import flood

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


@pytest.mark.parametrize("size", [(16, 16), (16, 41), (35, 19), (64, 64)])
def test_room_is_counted_cell_by_cell_on_generated_and_on_ragged_maps(size):
    rng = np.random.default_rng(0)
    masks = [generate(kind, *size, 2) for kind in ("open", "lakes", "mountains")]
    masks += [LandMask.from_array(rng.integers(100, size=size) < part) for part in (0, 50, 70, 85, 95, 99)]
    assert [capacity(mask) for mask in masks] == [plain_capacity(mask) for mask in masks]


def test_a_spawn_may_lie_in_the_last_corner_and_needs_no_corners_itself():
    land = np.zeros((16, 16), bool)
    land[tuple(np.array(SHAPE).T + 12)] = True
    assert capacity(LandMask.from_array(land)) == 1
    land[13, 12] = False
    assert capacity(LandMask.from_array(land)) == 0


def test_counting_stops_at_enough():
    mask = generate("lakes", 64, 64, 0)
    everything = capacity(mask)
    assert [capacity(mask, enough=enough) for enough in (everything + 1, 32, 0)] == [everything, 32, 0]


TURNS = {
    "half_turn": [lambda a: np.rot90(a, 2)],
    "mirror": [lambda a: a[:, ::-1]],
    "quarter_turn": [lambda a: np.rot90(a), lambda a: np.rot90(a, 2), lambda a: np.rot90(a, 3)],
    "two_mirrors": [lambda a: a[:, ::-1], lambda a: a[::-1], lambda a: a[::-1, ::-1]],
}


@pytest.mark.parametrize("symmetry", TURNS)
@pytest.mark.parametrize("kind", [kind for kind, one in KINDS.items() if any(o.words for o in one.options)])
def test_generated_maps_can_be_symmetric(kind, symmetry):
    for seed, size in enumerate(((16, 16), (33, 33), (64, 90), (17, 200))):
        if symmetry == "quarter_turn":
            size = (size[0], size[0])
        mask = generate(f"{kind}:symmetry={symmetry}", *size, seed)
        cells = mask.to_array()
        for turn in TURNS[symmetry]:
            np.testing.assert_array_equal(turn(cells), cells)
        assert is_symmetric(mask, symmetry)
        assert len(flood(cells)) == 1
        assert capacity(mask) >= 2
        share = mask.num_land / (size[0] * size[1])
        assert 0.3 < share < 1, "no draw was good enough"


@pytest.mark.parametrize("symmetry", TURNS)
def test_any_map_can_be_made_symmetric(symmetry):
    for mask in (land("europe"), land("world", connected=False), generate("maze", 101, 101, 3)):
        made = symmetrize(mask, symmetry)
        assert is_symmetric(made, symmetry)
        assert (len(flood(made.to_array())), symmetrize(made, symmetry)) == (1, made)


def test_the_upper_half_is_what_counts():
    cells = np.ones((20, 30), bool)
    cells[3:6, 4:9] = cells[15:19, 2:5] = False
    made = symmetrize(LandMask.from_array(cells), "half_turn").to_array()
    expected = np.ones((20, 30), bool)
    expected[3:6, 4:9] = expected[14:17, 21:26] = False
    np.testing.assert_array_equal(made, expected)


def test_pieces_that_are_cut_off_are_joined_and_crumbs_are_dropped():
    cells = np.zeros((40, 40), bool)
    cells[2:10, 2:12] = cells[2:10, 25:38] = cells[15, 20] = True
    cells[30:, :] = True  # this is not in the half that counts
    made = symmetrize(LandMask.from_array(cells), "half_turn", bridge_width=2)
    assert len(flood(made.to_array())) == 1
    assert is_symmetric(made, "half_turn")
    assert (made.to_array() & cells)[:12].sum() == 80 + 104
    assert not made.to_array()[15, 20]


def test_a_map_that_is_not_symmetric_is_not():
    mask = generate("lakes", 64, 64, 0)
    assert not any(is_symmetric(mask, symmetry) for symmetry in TURNS)
    assert is_symmetric(mask, "none")
    assert all(is_symmetric(generate("open", 16, 16, 0), symmetry) for symmetry in TURNS)


def test_images_are_permutations_that_form_a_group():
    for symmetry, turns in TURNS.items():
        made = images(symmetry, 6, 6)
        assert len(made) == 1 + len(turns)
        tables = {image.tobytes() for image in made}
        for a in made:
            assert (sorted(a), {a[b].tobytes() for b in made}) == (list(range(36)), tables)


BAD = {
    "an oblong quarter turn": (
        lambda: generate("lakes:symmetry=quarter_turn", 16, 20, 0),
        "square map; this one is 16 x 20",
    ),
    "an oblong quarter turn in a config": (
        lambda: GameConfig(height=32, width=48, num_players=4, map="maze:symmetry=quarter_turn"),
        "square map; this one is 32 x 48",
    ),
    "an unknown symmetry": (
        lambda: symmetrize(land("europe"), "spiral"),
        "symmetry is 'spiral'; it must be one of none",
    ),
    "an unknown symmetry in a name": (
        lambda: generate("maze:symmetry=spiral", 32, 32, 0),
        "must be one of none, half_turn",
    ),
    "a bridge too wide": (lambda: symmetrize(land("europe"), "mirror", 25), "bridge_width is 25"),
    "no land left": (
        lambda: symmetrize(LandMask.from_text("\n".join(["#" * 16] * 8 + ["." * 16] * 8)), "half_turn"),
        "no land in the part that symmetry 'half_turn' keeps",
    ),
    "a start on a map without symmetry": (
        lambda: symmetric_start(land("europe"), "mirror", 4),
        r"does not have the symmetry 'mirror'; territorial.maps.symmetrize\(mask, 'mirror'\) makes one",
    ),
    "three players on two sides": (
        lambda: symmetric_start(generate("open", 32, 32, 0), "mirror", 3),
        "num_players is 3; with symmetry 'mirror' it must be a multiple of 2",
    ),
    "more players than fit": (
        lambda: symmetric_start(generate("open", 16, 16, 0), "two_mirrors", 40),
        "num_players is 40, but there is room for only [0-9]+ spawns",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_symmetric_says_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- starts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetry", TURNS)
def test_spawns_are_images_of_each_other(symmetry):
    mask, turns = generate(f"islands:symmetry={symmetry}", 96, 96, 1), TURNS[symmetry]
    order = 1 + len(turns)
    for seed in range(5):
        owner = symmetric_start(mask, symmetry, 5 * order, seed)
        assert owner.dtype == np.uint8
        np.testing.assert_array_equal(owner != BLOCKED, mask.to_array())
        assert np.bincount(owner[owner != BLOCKED])[1:].tolist() == [SPAWN_CELLS] * (5 * order)
        for group in range(5):
            seats = range(group * order + 1, group * order + order + 1)
            spawns = {tuple(np.flatnonzero(owner == seat)) for seat in seats}
            first = owner == seats[0]
            assert spawns == {tuple(np.flatnonzero(turn(first))) for turn in (lambda a: a, *turns)}
    starts = [symmetric_start(mask, symmetry, 2 * order, seed).tobytes() for seed in range(5)]
    assert len(set(starts)) == 5
    assert symmetric_start(mask, symmetry, 2 * order).tobytes() == starts[0]


def test_spawns_are_spread():
    mask = generate("open", 128, 128, 0)
    for seed in range(5):
        owner = symmetric_start(mask, "half_turn", 16, seed)
        middles = np.array([np.argwhere(owner == seat).mean(axis=0) for seat in range(1, 17)])
        apart = np.sqrt(((middles[:, None] - middles) ** 2).sum(axis=2)) + 1000 * np.eye(16)
        assert apart.min() > 0.4 * np.sqrt(128 * 128 / 16)
