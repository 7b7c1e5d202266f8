"""What was measured of leagues against the goals: benchmarks/results/league_memory.json and soak.json."""

import json
from pathlib import Path

import pytest

from territorial.memory.measure import PSS

pytestmark = pytest.mark.checkout

RESULTS = Path(__file__).parents[2] / "benchmarks/results"
GB, MB = 2**30, 2**20


@pytest.fixture(scope="module")
def cases():
    found = json.loads((RESULTS / "league_memory.json").read_text(encoding="utf-8"))
    assert found["measure"] == PSS
    return found["cases"]


@pytest.fixture(scope="module")
def league_memory():
    from benchmarks.memory import league_memory

    return league_memory


def test_the_league_that_did_not_fit_is_built_in_a_gigabyte_and_trained_in_two(cases, league_memory):
    league = cases["packed"]
    setup = league["setup"]
    assert (setup["height"], setup["num_players"], setup["snapshots"], setup["env_runners"]) == (
        256,
        32,
        32,
        2,
    )
    assert 4.5e6 < league["parameters"] < 5.5e6
    assert league_memory.over_idle(league, "built") < 1 * GB
    assert league_memory.over_idle(league, "building_peak") < 1 * GB
    assert league_memory.over_idle(league, "peak") < 2 * GB
    assert league_memory.one_hot_league(cases)["built"] > 100 * GB


def test_runners_hardly_grow_with_three_hundred_snapshots(cases, league_memory):
    pool = cases["pool, 300 snapshots"]
    assert (pool["snapshots"], pool["runners"]) == (300, 4)
    growth = league_memory.growth_of_runners(cases)
    assert growth["here"] < 50 * MB
    assert growth["modules"] > 10 * 50 * MB
    assert pool["sync_bytes"] == cases["pool, 0 snapshots"]["sync_bytes"]


@pytest.mark.parametrize("name", ["packed", "packed, middle", "packed, small"])
def test_predictions_are_within_a_fifth_of_what_was_measured(cases, league_memory, name):
    case = cases[name]
    plan = league_memory.predicted(case)
    assert plan.built == pytest.approx(case["opened"], rel=0.2)
    assert plan.peak == pytest.approx(case["peak"], rel=0.2)


def test_memory_stays_where_it_is_while_snapshots_come_and_go():
    found = json.loads((RESULTS / "soak.json").read_text(encoding="utf-8"))
    assert found["iterations"] >= 500
    assert found["growth"] <= 1.02
