"""The results of the benchmarks about sampling and learning, against their goals."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
KB_A_GAME_STEP = 24
pytestmark = pytest.mark.checkout


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def test_the_batched_runner_samples_fifteen_times_as_fast():
    found = result("rllib_sampling")
    assert (found["games"], found["agents"], found["height"], found["players"]) == (16, 32, 256, 32)
    assert found["network"] == "MLP 64-64 on the features"
    speeds = found["agent_steps_per_process_second"]
    assert found["times_as_fast"] == pytest.approx(speeds["batched"] / speeds["stock"], abs=0.01)
    assert found["times_as_fast"] >= found["goal"] == 15


def test_a_learner_needs_hardly_more_for_all_seats_than_for_one():
    found = result("rllib_learner_memory")
    assert set(found["by_steps"]) == {"32", "64"}
    for steps, length in found["by_steps"].items():
        one, all_ = (length["by_learning_seats"][seats] for seats in ("1", "32"))
        assert all_["rows"] > 20 * one["rows"]
        assert (all_["peak"] - all_["tables"]) / (one["peak"] - one["tables"]) <= found["goal"] == 1.3
        assert all_["sample_bytes"] / int(steps) < 1000 * KB_A_GAME_STEP


def test_encode_once_samples_boards_five_times_as_fast_as_the_same_network_agent_by_agent():
    found = result("rllib_boards")
    assert (found["agents"], found["height"], found["players"], found["frames"]) == (32, 256, 32, 4)
    speeds = found["agent_steps_per_process_second"]
    assert speeds["encode-once"] >= 5 * speeds["per agent"]


def test_four_who_learn_get_their_rows_and_memory_stays_flat():
    found = result("several_learners")
    assert (found["iterations"], found["snapshots"]) == (20, 100)
    assert found["rows_right"] == len(found["rows"]) == 20
    assert all(count > 0 for count in found["rows_of_each"].values())
    assert len(found["rows_of_each"]) == 4
    assert found["growth"] <= 1.02


@pytest.mark.parametrize("run", ["rllib", "rllib_seed_1"])
def test_within_a_quarter_of_an_hour_a_network_learns_to_win_against_bots(run):
    found = result(f"learning_{run}")
    assert (found["height"], found["width"], len(found["seats"])) == (64, 64, 8)
    assert set(found["seats"]) == {"agent", "metronome", "novice"}
    assert found["seconds"] <= 15 * 60


@pytest.mark.parametrize("run", ["rllib", "rllib_seed_1", "example"])
def test_what_was_trained_comes_in_before_what_was_not(run):
    found = result(f"learning_{run}")
    assert found["games"] == 200
    assert found["better_than_all"]
    places = found["mean_place"]
    ours = [places.pop(f"trained, {how}") for how in ("sampled", "greedy")]
    worst = max(own["mean"] + own["half_interval"] for own in ours)
    assert worst < min(other["mean"] - other["half_interval"] for other in places.values())
