"""Instructions are counted, the same on every run, and more of them the more is observed."""

import pytest

from benchmarks.engine import instructions


def test_instructions_of_a_step_are_counted():
    found = []
    for part in (instructions.PARTS[0], instructions.PARTS[-1], instructions.PARTS[0]):
        try:
            found.append(instructions.count(part, games=1, side=48, specialize=False))
        except instructions.CannotCountError as error:
            pytest.skip(str(error))
    (told, counts), (_, counts_of_more), (_, counts_again) = found
    assert told["us"] > 0
    assert 0.5 < told["cycles_per_ns"] < 10
    (none, rules), (_, everything), (_, again) = counts, counts_of_more, counts_again
    assert none < rules < everything
    assert again == pytest.approx(rules, rel=0.03)  # Python calls, and does not always do it alike
