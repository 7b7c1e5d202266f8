"""GameConfig: ranges, errors that name field, value and range, copies, digests, the numbers for kernels."""

import dataclasses
import json
import pickle

import numpy as np
import pytest

from territorial import GameConfig, LandMask
from territorial.config import FIELDS, MAP_KINDS, RECIPROCAL_BITS, Params, interest_rates, make_params
from territorial.maps.generate import GENERATORS
from tests.twin import formulas

LAND = LandMask.from_array(np.ones((20, 24), bool))
NUMBERS = [name for name, spec in FIELDS.items() if "low" in spec.metadata]

# A value at the end of a range may need others: the caps, and costs that attacks can always pay.
COMPANIONS = {
    "soft_cap": {"hard_cap": 10_000},
    "hard_cap": {"soft_cap": 1},
    "min_layers": {"neutral_cost": 0, "attack_cost": 0},
    "neutral_cost": {"min_layers": 100},
    "attack_cost": {"min_layers": 100},
    "height": {"num_players": 2},
    "width": {"num_players": 2},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_both_ends_of_a_range_are_allowed_and_what_lies_beyond_is_not(name):
    low, high = FIELDS[name].metadata["low"], FIELDS[name].metadata["high"]
    for value in (low, high):
        config = GameConfig(**COMPANIONS.get(name, {}) | {name: value})
        assert getattr(config, name) == value
        make_params(config)
    for value in (low - 1, high + 1):
        with pytest.raises(
            ValueError, match=f"^{name} is {value}; it must be a whole number from {low} to {high}$"
        ):
            GameConfig(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [1.0, "1", None, True, np.True_, (1,)])
def test_a_number_must_be_a_whole_number(name, value):
    with pytest.raises(TypeError, match=f"^{name} is .*; it must be a whole number from"):
        GameConfig(**{name: value})


def test_whole_numbers_of_numpy_become_those_of_python():
    given = {"cadence_land": [10, np.int64(20), 30], "teams": np.array([1, 2, 1])}
    config = GameConfig(height=np.int64(32), num_players=np.uint8(3), **given)
    same = GameConfig(height=32, num_players=3, cadence_land=(10, 20, 30), teams=[1, 2, 1])
    assert config == same == pickle.loads(pickle.dumps(config))
    assert hash(config) == hash(same)
    numbers = (config.height, *config.cadence_land, *config.teams, GameConfig(teams=np.int64(4)).teams)
    assert {type(number) for number in numbers} == {int}


BAD = {
    "an unknown kind of map": (
        {"map": "swamp"},
        ValueError,
        "map is 'swamp'; it must be one of open, lakes, mountains, islands, .*, europe",
    ),
    "a map that is no map": ({"map": 3}, TypeError, "map is 3; it must be one of"),
    "a map of another size": (
        {"map": LAND},
        ValueError,
        r"map is 20 x 24 but height x width is 256 x 256; use GameConfig.for_map\(land, \.\.\.\)",
    ),
    "several maps of one's own": (
        {"map": LAND, "height": 20, "width": 24, "num_maps": 2},
        ValueError,
        "num_maps is 2; it must be 1 when no map is generated",
    ),
    "deaths that are a number": ({"deaths": 1}, TypeError, "deaths is 1; it must be True or False"),
    "a reward that there is not": (
        {"rewards": {"lnad": 1}},
        ValueError,
        r"a part of rewards is 'lnad' \(did you mean 'land'\?\); it must be one of land, placement, ",
    ),
    "a weight that is a text": (
        {"rewards": {"land": "much"}},
        TypeError,
        "the weight of 'land' in rewards is 'much'; it must be a finite number",
    ),
    "a weight that is not finite": (
        {"rewards": {"land": float("nan")}},
        ValueError,
        "the weight of 'land' in rewards is nan",
    ),
    "a weight that is True": (
        {"rewards": {"land": True}},
        TypeError,
        "the weight of 'land' in rewards is True",
    ),
    "a reward named twice": ({"rewards": "land,land=2"}, ValueError, "rewards has the part 'land' twice"),
    "rewards that are a number": ({"rewards": 3}, TypeError, "rewards is 3; it must map parts to weights"),
    "two cadence borders": (
        {"cadence_land": (1, 2)},
        ValueError,
        r"cadence_land has shape \(2,\); it must be \(3,\), not \(1, 2\)",
    ),
    "cadence borders that are no numbers": (
        {"cadence_land": (1, 2, 3.0)},
        TypeError,
        "cadence_land has dtype float64",
    ),
    "a cadence border alone": ({"cadence_land": 5}, ValueError, "cadence_land has shape"),
    "cadence borders that do not rise": ({"cadence_land": (1, 5, 5)}, ValueError, "increasing"),
    "a cadence border of 0": ({"cadence_land": (0, 5, 6)}, ValueError, "from 1 to"),
    "a cadence border beyond all maps": ({"cadence_land": (1, 2, 1048577)}, ValueError, "to 1048576"),
    "a hard cap below the soft one": (
        {"hard_cap": 99},
        ValueError,
        "hard_cap is 99; it must be at least soft_cap, which is 100",
    ),
    "neutral land dearer than a layer": (
        {"neutral_cost": 4},
        ValueError,
        "neutral_cost is 4; it must be at most min_layers, which is 3",
    ),
    "an attack dearer than a layer": ({"attack_cost": 4}, ValueError, "attack_cost is 4"),
    "teams as a text": (
        {"teams": "4"},
        TypeError,
        "teams is '4'; it must be None, a number of teams from 2 to num_players, or a list with the team of",
    ),
    "teams that are a set": (
        {"num_players": 2, "teams": {1, 2}},
        TypeError,
        "teams is {1, 2}; it must be None",
    ),
    "teams that are True": ({"teams": True}, TypeError, "teams is True; it must be None, a number of teams"),
    "half a team": ({"teams": 2.0}, TypeError, "teams is 2.0; it must be"),
    "a single team": (
        {"teams": 1},
        ValueError,
        "teams is 1; it must be from 2 to num_players, which is 32",
    ),
    "more teams than seats": ({"num_players": 4, "teams": 5}, ValueError, "teams is 5; .* which is 4"),
    "teams of three seats of four": (
        {"num_players": 4, "teams": (1, 2, 1)},
        ValueError,
        "teams has 3 entries; it must have one for each of the 4 seats",
    ),
    "a seat in team 0": (
        {"num_players": 2, "teams": (0, 1)},
        ValueError,
        r"teams\[0\] is 0; it must be from 1 to 2",
    ),
    "a seat in a team without a number": (
        {"num_players": 2, "teams": (1, "b")},
        TypeError,
        "teams has dtype <U",
    ),
    "all seats in one team": (
        {"num_players": 3, "teams": (1, 1, 1)},
        ValueError,
        "teams has all seats in one team; it must have at least 2 teams",
    ),
    "a gap between teams": (
        {"num_players": 4, "teams": (1, 4, 3, 1)},
        ValueError,
        "teams has the team 4 but no seat in team 2; its numbers must be 1, 2 and so on without gaps",
    ),
    "an unknown way to deal": (
        {"teams": 2, "team_deal": "block"},
        ValueError,
        r"team_deal is 'block' \(did you mean 'blocks'\?\); it must be one of blocks, turn, random",
    ),
    "a way to deal that is no text": (
        {"teams": 2, "team_deal": 1},
        ValueError,
        "team_deal is 1; it must be one",
    ),
    "nothing to deal": (
        {"num_players": 2, "teams": (1, 2), "team_deal": "random"},
        ValueError,
        "team_deal is 'random'; it must be 'blocks' unless teams is a number of teams",
    ),
    "a way to deal without teams": (
        {"team_deal": "turn"},
        ValueError,
        "team_deal is 'turn'; .* unless teams",
    ),
    "an unknown place to start": (
        {"teams": 2, "team_spawns": "apart"},
        ValueError,
        "team_spawns is 'apart'; it must be one of mixed, together",
    ),
    "no teams that start together": (
        {"team_spawns": "together"},
        ValueError,
        "team_spawns is 'together'; it must be 'mixed' unless teams is set",
    ),
    "a reward of teams without teams": (
        {"rewards": {"land": 1, "team_land": 1}},
        ValueError,
        "rewards has the part 'team_land'; it needs teams, and teams is None",
    ),
    "more spawns than cells": (
        {"height": 16, "width": 16, "num_players": 22},
        ValueError,
        "num_players is 22; each spawn takes 12 cells .* it must be at most 21",
    ),
}


@pytest.mark.parametrize(("fields", "error", "message"), BAD.values(), ids=BAD)
def test_a_config_that_makes_no_sense_says_why(fields, error, message):
    with pytest.raises(error, match=message):
        GameConfig(**fields)


def test_replace_changes_some_fields_and_checks_all():
    config = GameConfig(width=64)
    changed = config.replace(height=48, deaths=False)
    assert (changed.height, changed.width, changed.deaths) == (48, 64, False)
    assert (config.height, config.deaths) == (256, True)
    with pytest.raises(ValueError, match="height is 3"):
        config.replace(height=3)
    with pytest.raises(
        TypeError, match=r"got an unexpected keyword argument 'hieght' \(did you mean 'height'\?\)"
    ):
        config.replace(hieght=48)
    with pytest.raises(
        TypeError, match="unexpected keyword argument 'zebra'; it takes height, width, num_players,"
    ):
        GameConfig(zebra=48)


def test_a_config_cannot_be_changed_and_takes_keywords_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        GameConfig().height = 32
    with pytest.raises(TypeError):
        GameConfig(32)


def test_for_map_takes_a_land_mask_and_its_size():
    config = GameConfig.for_map(LAND, num_players=3)
    assert (config.height, config.width, config.map, config.num_players) == (20, 24, LAND, 3)
    with pytest.raises(TypeError, match=r"land is an array of .*; it must be a LandMask"):
        GameConfig.for_map(np.ones((20, 24), bool))


def test_equal_configs_are_one_value():
    a, b = GameConfig.for_map(LAND, num_players=3), GameConfig.for_map(LAND, num_players=3)
    assert len({a, b, pickle.loads(pickle.dumps(a))}) == 1
    assert a.hexdigest == b.hexdigest == f"{int(a.hexdigest, 16):016x}"


def test_all_fields_are_values_that_json_has():
    config = GameConfig.for_map(LAND, num_players=3, teams=(1, 2, 1), rewards={"kills": 1})
    values = config.to_dict()
    assert list(values) == list(FIELDS)
    assert values == json.loads(json.dumps(values))
    assert (values["map"], GameConfig(**values | {"map": LAND})) == (LAND.hexdigest, config)


def test_every_field_has_a_part_in_the_digest():
    base = GameConfig(height=64, width=64, num_players=3, soft_cap=50, min_layers=5)
    others = {
        "map": "open",
        "cadence_land": (1, 2, 3),
        "deaths": False,
        "handicap": True,
        "teams": 2,
    } | {name: getattr(base, name) + 1 for name in NUMBERS}
    teams = ({"teams": (1, 1, 2)}, {"teams": 2, "team_deal": "turn"}, {"teams": 2, "team_spawns": "together"})
    assert {*others, *teams[1], *teams[2]} == set(FIELDS) - {"rewards"}
    changes = [*({name: value} for name, value in others.items()), *teams]
    digests = {base.replace(**change).hexdigest for change in changes}
    assert len(digests | {base.hexdigest}) == len(changes) + 1
    assert base.replace(rewards={"kills": 1}).hexdigest == base.hexdigest, "no game depends on them"


def test_the_version_of_the_rules_has_a_part_in_the_digest(monkeypatch):
    before = GameConfig().hexdigest
    monkeypatch.setattr("territorial.config.RULES_VERSION", 10**6)
    assert GameConfig().hexdigest != before


def test_kinds_of_map_are_those_that_can_be_generated():
    assert tuple(GENERATORS) == MAP_KINDS


# ---- teams ----------------------------------------------------------------------------------------

DEALT = {
    "blocks of equal teams": (6, 3, "blocks", (1, 1, 2, 2, 3, 3)),
    "blocks of which the first have one more": (8, 3, "blocks", (1, 1, 1, 2, 2, 2, 3, 3)),
    "in turn": (8, 3, "turn", (1, 2, 3, 1, 2, 3, 1, 2)),
    "at random, by draws": (5, 2, "random", (1, 2, 1, 1, 2)),
    "a team for every seat": (4, 4, "blocks", (1, 2, 3, 4)),
    "a list": (5, [2, 1, 2, 3, 3], "blocks", (2, 1, 2, 3, 3)),
    "no teams": (3, None, "blocks", (1, 2, 3)),
}


@pytest.mark.parametrize(("num_players", "teams", "deal", "expected"), DEALT.values(), ids=DEALT)
def test_seats_are_dealt_to_teams(num_players, teams, deal, expected):
    config = GameConfig(num_players=num_players, teams=teams, team_deal=deal)
    assert (config.team_of(), config.num_teams) == (expected, max(expected))


@pytest.mark.parametrize("num_players", [2, 3, 10, 250])
def test_teams_that_are_dealt_differ_by_one_seat_at_most_and_none_is_empty(num_players):
    for num_teams in range(2, num_players + 1):
        for deal in ("blocks", "turn", "random"):
            config = GameConfig(num_players=num_players, teams=num_teams, team_deal=deal)
            sizes = np.bincount(config.team_of())[1:].tolist()
            assert (len(sizes), sum(sizes), sorted(sizes, reverse=True)) == (num_teams, num_players, sizes)
            assert 0 < sizes[0] <= sizes[-1] + 1


def test_land_of_the_team_is_a_reward_where_there_are_teams():
    config = GameConfig(teams=4, rewards="team_land=1,land=2")
    assert config.rewards == (("land", 2.0), ("team_land", 1.0))


@pytest.mark.parametrize(("teams", "allied"), [(None, ()), (8, ()), (tuple(range(8, 0, -1)), ()), (7, (1,))])
def test_kernels_are_told_of_teams_where_a_seat_has_an_ally(teams, allied):
    config = GameConfig(num_players=8, teams=teams)
    assert (make_params(config).allied, config.has_allies) == (allied, bool(allied))


# ---- numbers for the kernels ----------------------------------------------------------------------


def test_every_number_of_the_rules_reaches_the_kernels():
    config = GameConfig(deaths=False, cadence_land=(5, 6, 7), launch_tax=99)
    params = make_params(config)
    assert all(type(value) is int for value in params if value is not params.allied)
    assert (params.deaths, params.launch_tax) == (0, 99)
    assert (params.cadence_land_small, params.cadence_land_medium, params.cadence_land_large) == (5, 6, 7)
    for name in set(Params._fields) & set(NUMBERS):
        assert getattr(params, name) == getattr(config, name)


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 50, 999, 1000, 1023, 4096, 65_537, 999_983, 1_000_000])
def test_the_reciprocal_divides_every_distance_exactly(divisor):
    reciprocal = make_params(GameConfig(peak_decay_divisor=divisor)).peak_decay_reciprocal
    distances = np.arange(2**20 + 1, dtype=np.int64)
    assert np.array_equal((distances * reciprocal) >> RECIPROCAL_BITS, distances // divisor)


def test_the_table_of_interest_rates_is_the_formula_for_every_share_of_land():
    config, late = GameConfig(), 10_000
    rates = interest_rates(config)
    assert (len(rates), rates[0], rates[-1]) == (512, 100, 260)
    for land in range(1, 65_537, 97):
        level = config.interest_levels * land // 65_536
        assert rates[level] == formulas.interest_rate(config, late, 0, land, 65_536)
