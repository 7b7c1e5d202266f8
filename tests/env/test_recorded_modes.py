"""Games, episodes, rewards and infos are those of the recording, in every mode of every environment."""

import pytest

from tests.env.recorded_modes import PATH, cases
from tests.recordings import load

CASES = cases()


@pytest.fixture(scope="module")
def recorded():
    return load(PATH)


@pytest.mark.parametrize("case", CASES)
def test_a_mode_plays_what_was_recorded(case, recorded):
    assert CASES[case]().digest() == recorded[case], f"python -m tests.env.recorded_modes --show '{case}'"


def test_nothing_is_recorded_that_is_not_played(recorded):
    assert recorded.keys() == CASES.keys()
