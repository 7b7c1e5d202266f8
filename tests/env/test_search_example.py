"""The example of search: it beats its own rollout policy, in games that are the same on every machine."""

import pytest

from benchmarks import harness

pytestmark = pytest.mark.checkout


def test_the_search_is_better_than_its_rollout_policy_with_disjoint_intervals(capsys):
    search = harness.example("search")
    assert search.main(["--games", "20", "--candidates", "8", "--rollouts", "3", "--horizon", "8"]) == 0
    assert "search is better with disjoint intervals" in capsys.readouterr().out
