"""RLlib's environments play the games, and tell the episodes, rewards and infos, of the recording."""

import pytest

from tests.recordings import load
from tests.rllib.recorded_modes import PATH, cases

CASES = cases()


@pytest.fixture(scope="module")
def recorded():
    return load(PATH)


@pytest.mark.parametrize("case", CASES)
def test_a_mode_plays_what_was_recorded(case, recorded):
    assert CASES[case]().digest() == recorded[case], f"python -m tests.rllib.recorded_modes --show '{case}'"


def test_nothing_is_recorded_that_is_not_played(recorded):
    assert recorded.keys() == CASES.keys()
