"""The results of the trainers' benchmarks that are kept, held against the goals they carry."""

import json
from pathlib import Path

import pytest

from territorial.testing import TRAINERS

pytestmark = pytest.mark.checkout

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"

TRAINED = {"trained, sampled", "trained, greedy"}


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def test_make_vec_costs_little_over_the_engine_and_parallel_env_is_quick_enough():
    found = result("vector_cost")
    assert found["num_games"] == 64
    assert len(found["limited"]) == 2
    assert found["limit"] == 1.10
    assert all(found["ratio_to_engine"][name] <= found["limit"] for name in found["limited"])
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


def test_the_example_of_ppo_learns_within_five_minutes():
    found = result("learning_example")
    assert found["seconds"] <= 300
    assert found["games"] >= 100
    assert found["settings"]["network"] == "encode-once"
    places = found["mean_place"]
    best = max(places[name]["mean"] + places[name]["half_interval"] for name in TRAINED)
    others = places.keys() - TRAINED
    assert others >= {"untrained, sampled", "untrained, greedy", "always hold"}
    assert all(best < places[name]["mean"] - places[name]["half_interval"] for name in others)


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda trainer: trainer.package)
def test_what_is_said_of_trainers_is_what_came_of_their_runs(trainer):
    found = result("trainers")[trainer.package]
    agents = found["game"]["seats"].count("agent")
    traits = [{name: run[name] for name in ("action_mask", "agent_death")} for run in found["runs"]]
    assert len({tuple(trait.values()) for trait in traits}) == 8
    for trait, run in zip(traits, found["runs"], strict=True):
        disobeys = run["illegal_later"] > 0 and run["action_mask"] != "none"
        miscounts = run["episodes"] is not None and run["episodes"] > agents * (run["games"] + 1)
        went_wrong = bool(run["error"]) or disobeys or run["cut_short"] > 0 or miscounts
        assert went_wrong == bool(trainer.against(trait)), run
        assert went_wrong or (run["steps"] > 0.9 * found["steps"] and run["deaths"] > 0), run


def test_the_search_is_better_than_its_rollout_policy():
    found = result("search_example")
    assert found["games"] >= 20
    ours, other = (found["places"][name] for name in ("search", "rollout policy"))
    assert ours["place"] + ours["half_interval"] < other["place"] - other["half_interval"]
