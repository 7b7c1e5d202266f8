"""Every rung of a ladder does what the reference does, on a board it has not been timed on."""

import pytest

import territorial
from benchmarks.engine.ladder import fronts, packing


@pytest.fixture(scope="module")
def crowded():
    return fronts.position_of(territorial.GameConfig(height=45, width=130, num_players=9), steps=60)


@pytest.mark.parametrize("rung", fronts.RUNGS, ids=lambda rung: rung.__name__)
def test_a_rung_finds_the_fronts_of_the_twin(crowded, rung):
    position, twin = crowded
    sizes = {(p, t): len(twin.front(p, t)) for p in range(1, 10) for t in range(10) if p != t}
    assert sum(size > 0 for size in sizes.values()) > 10
    assert {pair: rung(position, *pair) for pair in sizes} == sizes


@pytest.fixture(scope="module")
def played():
    return packing.steps_of(territorial.GameConfig(height=45, width=130, num_players=9), steps=25)


@pytest.mark.parametrize("rung", packing.RUNGS, ids=lambda rung: rung.__name__)
def test_a_rung_packs_what_the_twin_packs(played, rung):
    boards, changes, game = played
    stack = packing.BoardStack(game.config, boards[0])
    for step in range(0, len(changes), 5):
        packing.run(rung, stack, changes[step : step + 5])
        assert packing.seen(stack, game.layout) == packing.expected(game.layout, boards[: step + 6])
    assert not stack.changes.any()
    assert not stack.work.log_changes.any()
    assert stack.boards[1:].any()
