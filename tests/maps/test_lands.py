"""Lands of the real world: they are there, small, in one region, and written down where they come from."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from territorial import GameConfig
from territorial.config.map_names import LANDS
from territorial.maps import capacity, check_connected, land, lands, largest_region, make_maps
from territorial.maps.lands import resized
from territorial.maps.regions import label_regions

FOLDER = Path(lands.__file__).parent / "lands"


WRITTEN = json.loads((FOLDER / "lands.json").read_text(encoding="utf-8"))["lands"]


def test_there_is_a_small_file_for_every_name_and_no_other():
    assert ({path.stem for path in FOLDER.glob("*.png")}, list(WRITTEN)) == (set(LANDS), list(LANDS))
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 40_000


@pytest.mark.parametrize("name", LANDS)
def test_a_land_is_its_largest_region_as_written_down(name):
    whole, played = land(name, connected=False), land(name)
    assert (played.height, played.width) == (256, 256)
    check_connected(played)
    assert largest_region(whole) == played
    shares = (whole.num_land / 256**2, played.num_land / whole.num_land)
    written = (WRITTEN[name][key] for key in ("land_percent", "largest_region_percent_of_land"))
    assert ([*written], capacity(played, 250)) == ([round(100 * share, 1) for share in shares], 250)


# A configuration names a land: RULES_VERSION moves when one of these digests does.
GOLDEN = {
    ("world", 256, 256): "b66a2cdf572528e0",
    ("world:bridges=3", 256, 256): "54ae9715207e9695",
    ("europe", 256, 256): "8527b2df66b758af",
    ("europe", 100, 333): "ead7e185793b71e2",
    ("japan:bridges=2", 128, 128): "95a567b6959a7740",
    ("new_zealand:bridges=24", 16, 16): "7f4838b3c8c65c8d",
    ("south_america", 1024, 512): "e867a2afcd9555a9",
}


@pytest.mark.parametrize(("name", "height", "width"), GOLDEN)
def test_a_name_always_means_the_same_map(name, height, width):
    assert land(name, height, width).hexdigest == GOLDEN[name, height, width]


@pytest.mark.parametrize("name", ["world", "japan", "britain", "new_zealand", "caribbean"])
def test_bridges_bring_more_land_into_play(name):
    alone, joined = land(name), land(f"{name}:bridges=3")
    check_connected(joined)
    assert not (alone.to_array() & ~joined.to_array()).any()
    left_out = label_regions(land(name, connected=False).to_array() & ~joined.to_array())
    assert np.bincount(left_out.ravel())[1:].max(initial=0) < lands.SMALLEST_ISLAND
    assert joined.num_land > 1.02 * alone.num_land


def test_other_sizes_are_majorities_of_areas():
    rng = np.random.default_rng(0)
    for old, new in (((5, 7), (3, 4)), ((6, 6), (3, 3)), ((4, 9), (8, 5)), ((3, 3), (7, 2))):
        cells = rng.random(old) < 0.5
        made = resized(cells, *new)
        for r, c in np.ndindex(new):
            covered = sum(
                overlap(r, new[0], i, old[0]) * overlap(c, new[1], j, old[1])
                for i, j in np.argwhere(cells).tolist()
            )
            area = Fraction(1, new[0] * new[1])
            assert made[r, c] == (2 * covered >= area)


def overlap(i, parts, j, other_parts):
    """Length that part i of ``parts`` and part j of ``other_parts`` of a line of length 1 share."""
    low = max(Fraction(i, parts), Fraction(j, other_parts))
    return max(Fraction(0), min(Fraction(i + 1, parts), Fraction(j + 1, other_parts)) - low)


def test_lands_are_played_by_name():
    small = {"height": 64, "width": 64, "num_players": 8}
    assert make_maps(GameConfig(map="europe")) == [land("europe")]
    assert make_maps(GameConfig(map=" britain : bridges = 2", **small)) == [land("britain:bridges=2", 64, 64)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("atlantis",), ValueError, "land is 'atlantis'; it must be one of world, africa"),
        (("lakes",), ValueError, "land is 'lakes'; it must be one of world"),
        ((5,), TypeError, "land is 5; it must be one of world"),
        (("europe", 15), ValueError, "map height is 15; it must be a whole number from 16 to 1024"),
        (("europe", 20, 2000), ValueError, "map width is 2000"),
        (("europe:bridges=25",), ValueError, "bridges is '25'; it must be a whole number from 0 to 24"),
        (("europe:count=2",), ValueError, "europe has no option 'count'; it has bridges"),
    ],
)
def test_lands_that_are_not_there_say_so(arguments, error, message):
    with pytest.raises(error, match=message):
        land(*arguments)
