"""The results of the trainers' benchmarks that are kept, held against the goals they carry."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def test_make_vec_costs_little_over_the_engine_and_parallel_env_is_quick_enough():
    found = result("vector_cost")
    assert found["num_games"] == 64
    assert found["ratio_to_engine"][found["limited"]] <= found["limit"] == 1.10
    assert found["parallel"]["agents"] == 32
    assert found["parallel"]["features_steps_per_s"] >= found["parallel_goal"] == 3000
    assert found["parallel"]["features_over_naive"] > 10


def test_agents_learn_through_every_adapter():
    found = result("adapters_learn")
    assert found["adapters"].keys() == {"maskable", "boards", "supersuit"}
    assert found["eval_games"] >= 100
    for one in found["adapters"].values():
        assert one["seconds"] <= 300
        best = one["trained"]["place"] + one["trained"]["half_interval"]
        for other in ("untrained", "always_hold"):
            assert best < one[other]["place"] - one[other]["half_interval"]
    assert found["adapters"]["maskable"]["trained"]["illegal_a_game"] == 0
