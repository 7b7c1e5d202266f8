"""The example of search: it beats its own rollout policy, in games that are the same on every machine."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

PATH = Path(__file__).parents[2] / "examples" / "search.py"


def test_the_search_is_better_than_its_rollout_policy_with_disjoint_intervals(capsys):
    spec = importlib.util.spec_from_file_location("search_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(["--games", "20", "--candidates", "8", "--rollouts", "3", "--horizon", "8"]) == 0
    assert "search is better with disjoint intervals" in capsys.readouterr().out
