"""What the package says of trainers, and what came of their runs: benchmarks/results/trainers.json."""

import json
from pathlib import Path

import pytest

from territorial.testing import TRAINERS

pytestmark = pytest.mark.checkout

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


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
