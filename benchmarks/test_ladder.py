"""Every rung of the ladder finds the fronts that the slow twin finds, on a board it has not been timed on."""

import pytest

import territorial
from benchmarks.ladder import fronts


@pytest.fixture(scope="module")
def crowded():
    return fronts.position_of(territorial.GameConfig(height=45, width=130, num_players=9), steps=60)


@pytest.mark.parametrize("rung", fronts.RUNGS, ids=lambda rung: rung.__name__)
def test_a_rung_finds_the_fronts_of_the_twin(crowded, rung):
    position, twin = crowded
    sizes = {(p, t): len(twin.front(p, t)) for p in range(1, 10) for t in range(10) if p != t}
    assert sum(size > 0 for size in sizes.values()) > 10
    assert {pair: rung(position, *pair) for pair in sizes} == sizes
