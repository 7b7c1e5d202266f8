"""What is predicted of leagues against what was measured: benchmarks/results/league_memory.json."""

import json
from pathlib import Path

import pytest

from territorial.memory.measure import PSS

pytestmark = pytest.mark.checkout

RESULTS = Path(__file__).parents[2] / "benchmarks/results"


@pytest.fixture(scope="module")
def cases():
    found = json.loads((RESULTS / "league_memory.json").read_text(encoding="utf-8"))
    assert found["measure"] == PSS
    return found["cases"]


@pytest.fixture(scope="module")
def league_memory():
    from benchmarks.memory import league_memory

    return league_memory


def test_predictions_are_within_a_fifth_of_what_was_measured(cases, league_memory):
    measured = [name for name in league_memory.PACKED if name in cases]
    assert {"packed", "packed, middle", "packed, small"} <= set(measured)
    for name in measured:
        case = cases[name]
        plan = league_memory.predicted(case)
        assert plan.built == pytest.approx(case["opened"], rel=0.2), name
        assert plan.peak == pytest.approx(case["peak"], rel=0.2), name
