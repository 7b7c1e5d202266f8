"""The results of the benchmarks about sampling and learning, against their goals."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
KB_A_GAME_STEP = 24


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
    one, all_ = (found["by_learning_seats"][seats] for seats in ("1", "32"))
    assert all_["rows"] > 20 * one["rows"]
    assert (all_["peak"] - all_["tables"]) / (one["peak"] - one["tables"]) <= found["goal"] == 1.3
    assert all_["sample_bytes"] / found["steps"] < 1000 * KB_A_GAME_STEP
