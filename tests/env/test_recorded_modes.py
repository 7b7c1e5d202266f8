"""Games, episodes, rewards and infos are those of the recording, in every mode of every environment."""

import itertools

import pytest

from tests.env.recorded_modes import PATH, VALUES, cases, parallel_rows, vector_rows
from tests.recordings import Recording, differences, load

CASES = cases()


@pytest.fixture(scope="module")
def recorded():
    return load(PATH)


@pytest.mark.parametrize("case", CASES)
def test_a_mode_plays_what_was_recorded(case, recorded):
    found = differences(case, recorded[case], CASES[case]().written())
    assert not found, "\n".join(found)


def test_nothing_is_recorded_that_is_not_played(recorded):
    assert recorded.keys() == CASES.keys()


@pytest.mark.parametrize("rows", [vector_rows(), parallel_rows()], ids=["vector", "parallel"])
def test_every_pair_of_values_is_in_the_tables(rows):
    for one, other in itertools.combinations(rows[0], 2):
        pairs = {(row[one], row[other]) for row in rows}
        values = [
            [value for value in VALUES[name] if any(row[name] == value for row in rows)]
            for name in (one, other)
        ]
        assert pairs == set(itertools.product(*values)), f"{one} and {other}"


def test_every_value_is_in_the_table_of_vectors():
    for name, values in VALUES.items():
        assert {row[name] for row in vector_rows()} == set(values)


def test_a_difference_is_told_with_its_step_and_its_array():
    written = []
    for changed in (1.0, 1.5):
        recording = Recording()
        for step in range(4):
            recording.add("rewards", changed if step == 2 else 0.0)
            recording.add("info", {"land": step})
            recording.end()
        written.append(recording.written())
    before, now = written
    assert differences("a case", before, before) == []
    assert differences("a case", before, now) == ["a case: rewards differs from step 2 on"]
    del now["rewards"]
    assert differences("a case", before, now) == ["a case: rewards is missing"]
