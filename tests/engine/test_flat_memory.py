"""Memory stays flat over many games; benchmarks/engine/flat_memory.py is the long form."""

import gc
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import pytest

import territorial
from territorial.cli.machine import resident_memory

CONFIG = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=500)
NUM_GAMES = 16
SEATS = ("metronome", "banker", "turtle", "random")


def least_growth(work: Callable[[], object], rounds: int = 4) -> int:
    """Return the bytes that Python's allocator kept in that round of ``work`` which kept the fewest.

    What leaks does so in every round. Caches and free lists fill in some round or other, and then
    stay as they are.
    """
    gc.collect()
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(rounds + 1):
            work()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    return min(after - before for before, after in pairwise(sizes))


@pytest.mark.parametrize("num_threads", [1, 2])
def test_forty_thousand_steps_over_autoreset_games_leave_no_memory_behind(num_threads):
    game = territorial.VecGame(CONFIG, NUM_GAMES, seats=SEATS, num_threads=num_threads)
    game.reset()
    num_calls, ended = 500, []

    def play() -> None:
        for _ in range(num_calls):
            ended.append(int(game.step()[-1]["ended"].sum()))
            assert game.state.owner[0, 0, 0] == 255
        ended[:] = [sum(ended)]

    play()
    before, _ = resident_memory()
    # One object of 32 bytes left behind by each call would make it 16,000.
    assert least_growth(play) < 8_000
    after, _ = resident_memory()
    game.close()
    assert ended[0] > 500
    if before is not None and after is not None:
        assert after - before < 20_000_000


def test_resets_snapshots_and_copies_are_given_back():
    game = territorial.VecGame(CONFIG, 2, seats=SEATS)
    game.reset()

    def use() -> None:
        for _ in range(25):
            game.restore(1, game.save(0))
            game.clone().step()
            game.reset()

    # One board of 32 x 32 left behind by each of 25 turns would make it 25,000.
    assert least_growth(use) < 12_500
