"""Names of maps and mixes of them: one spelling for each, and errors that say what there is."""

import pickle

import pytest

from territorial import GameConfig, LandMask
from territorial.config.map_mix import MapMix, entries_of, text_of
from territorial.config.map_names import ALL_MAPS, KINDS, LANDS, parse_map_name

MASK = LandMask.from_text("\n".join(["." * 16] * 16))


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("lakes", "lakes"),
        (" lakes ", "lakes"),
        ("lakes:", "lakes"),
        ("islands:bridges=3,count=9", "islands"),
        ("islands: bridges = 4 , count=12", "islands:count=12,bridges=4"),
        ("islands:symmetry=mirror", "islands:symmetry=mirror"),
        ("islands:symmetry=none", "islands"),
        ("world:bridges=02", "world:bridges=2"),
    ],
)
def test_there_is_one_spelling(text, spelling):
    name = parse_map_name(text)
    assert (str(name), parse_map_name(spelling), GameConfig(map=text).map) == (spelling, name, spelling)


def test_every_option_has_a_default_in_its_range_and_a_meaning():
    for kind in ALL_MAPS.values():
        for option in kind.options:
            assert option.low <= option.default <= option.high
            assert len(option.meaning) > 10
            assert not option.words or (option.low, option.high) == (0, len(option.words) - 1)
    assert not set(KINDS) & set(LANDS)


BAD = {
    "swamp": "map is 'swamp'; it must be one of open, lakes, .* south_america",
    "": "map is ''; it must be one of open",
    "lakes:count=3": "'lakes:count=3': lakes has no option 'count'; it has blocked, per_side, symmetry",
    "open:blocked=3": "open has no option 'blocked'; it has none",
    "islands:count": "islands:count': count is ''; it must be a whole number from 2 to 64",
    "islands:count=1": "count is '1'; it must be a whole number from 2 to 64",
    "islands:count=65": "count is '65'",
    "islands:count=-3": "count is '-3'",
    "islands:count=3.0": "count is '3.0'",
    "islands:count=\u0663": "it must be a whole number",
    "islands:count=" + "9" * 5000: "it must be a whole number",
    "islands:count=3,count=4": "the option count occurs twice",
    "islands:,": "islands has no option ''",
    "maze:symmetry=0": "symmetry is '0'; it must be one of none, half_turn",
    "0*lakes + open": "the weight of the map lakes is 0; it must be a whole number from 1 to 100",
    "x*lakes + open": "map is 'x.lakes . open': 'x' is not a weight",
    "lakes + lakes:per_side=6": "the map lakes is in a MapMix twice; give it a weight instead",
    "lakes + ": "map is ''; it must be one of",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:30])
def test_a_name_that_is_none_says_why(text):
    with pytest.raises(ValueError, match=BAD[text]):
        GameConfig(map=text)


def test_a_mix_is_a_value():
    mix = MapMix({"lakes": 6, MASK: 2, "islands:count=9": 4})
    assert mix.entries == (("lakes", 3), (MASK, 1), ("islands", 2))
    assert str(mix) == f"3*lakes + {MASK.hexdigest} + 2*islands"
    listed, shown = MapMix([("lakes", 3), MASK, ("islands", 2)]), eval(repr(mix), globals())
    assert len({mix, MapMix(mix.entries), listed, shown, pickle.loads(pickle.dumps(mix))}) == 1
    text = "3*lakes + open"
    assert MapMix.from_text(text) == GameConfig(map=text).map == MapMix({"lakes": 3, "open": 1})


def test_a_mix_has_a_part_in_the_digest_of_a_config():
    fields = {"height": 16, "width": 16, "num_players": 2}
    maps = ["lakes", MASK, "lakes + open", "open + lakes", "2*lakes + open", MapMix(["lakes", MASK])]
    configs = [GameConfig(map=one, **fields) for one in maps]
    assert len({config.hexdigest for config in configs}) == len(maps)
    assert [config.map_name for config in configs[:3]] == ["lakes", MASK.hexdigest, "lakes + open"]
    assert pickle.loads(pickle.dumps(configs[-1])) == configs[-1]
    assert configs[-1].replace(num_maps=0).map == configs[-1].map


@pytest.mark.parametrize(
    ("maps", "error", "message"),
    [
        (
            "lakes",
            TypeError,
            "entries is of type str; a MapMix takes a list of maps, or a dict of maps and their",
        ),
        (MASK, TypeError, "entries is of type LandMask"),
        (5, TypeError, "entries is of type int"),
        ([], ValueError, "a MapMix has 0 maps; it must have 1 to 100"),
        ([f"islands:count={2 + i % 60},loops={i // 60}" for i in range(101)], ValueError, "has 101 maps"),
        ([5], TypeError, "map is 5; it must be one of open"),
        ({"lakes": 101}, ValueError, "the weight of the map lakes is 101"),
        ({"lakes": 0.5}, TypeError, "the weight of the map lakes is 0.5"),
        ([MASK, MASK], ValueError, f"the map {MASK.hexdigest} is in a MapMix twice"),
    ],
)
def test_a_mix_of_what_are_no_maps_is_refused(maps, error, message):
    with pytest.raises(error, match=message):
        MapMix(maps)


def test_maps_of_a_mix_must_fit_the_config():
    with pytest.raises(ValueError, match="map is 16 x 16 but height x width is 32 x 16"):
        GameConfig(height=32, width=16, num_players=2, map=MapMix(["lakes", MASK]))
    for one in (MASK, "europe", MapMix([MASK, "europe"])):
        for num_maps in (0, 2):
            with pytest.raises(
                ValueError, match=f"num_maps is {num_maps}; it must be 1 when no map is generated"
            ):
                GameConfig(height=16, width=16, num_players=2, map=one, num_maps=num_maps)
    assert GameConfig(height=16, width=16, num_players=2, map=MapMix([MASK, "lakes"]), num_maps=2)


def test_all_maps_of_a_config_have_their_names_and_weights():
    assert [
        (text_of(one) if isinstance(one, LandMask) else str(one), weight)
        for one, weight in entries_of(MapMix({"lakes": 2, MASK: 1}))
    ] == [("lakes", 2), (MASK.hexdigest, 1)]
    assert [(str(one), weight) for one, weight in entries_of("europe")] == [("europe", 1)]
