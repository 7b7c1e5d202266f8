"""Memory stays flat over many games."""

import gc
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import territorial
from tests.episodes import begun

CONFIG = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=500)
SEATS = ("metronome", "banker", "turtle", "random")


def all_bytes() -> int:
    """Return the bytes of all objects that Python has allocated since tracing began."""
    return tracemalloc.get_traced_memory()[0]


def bytes_of_arrays() -> int:
    """Return the bytes of numpy's arrays among these: they do not move when others are replaced."""
    traces = tracemalloc.take_snapshot().traces
    return sum(trace.size for trace in traces if trace.domain == np.lib.tracemalloc_domain)


def least_growth(work: Callable[[], object], measure: Callable[[], int] = all_bytes, rounds: int = 4) -> int:
    """Return the bytes that were kept in that round of ``work`` which kept the fewest.

    What leaks does so in every round. Caches and free lists fill in some round or other, and then
    stay as they are.
    """
    gc.collect()
    gc.freeze()  # what there is already takes no time in each round
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(rounds + 1):
            work()
            gc.collect()
            sizes.append(measure())
    finally:
        tracemalloc.stop()
        gc.unfreeze()
    return min(after - before for before, after in pairwise(sizes))


@pytest.mark.parametrize("num_threads", [1, 2])
def test_steps_over_autoreset_games_leave_no_memory_behind(num_threads):
    game = begun(territorial.VecGame(CONFIG, 16, seats=SEATS, num_threads=num_threads))
    num_calls, ended = 200, []

    def play() -> None:
        for _ in range(num_calls):
            ended.append(int(game.step()[-1]["ended"].sum()))
            assert game.state.owner[0, 0, 0] == 255
        ended[:] = [sum(ended)]

    play()
    # One object of 32 bytes left behind by each call would make it 6,400.
    assert least_growth(play) < 3_200
    game.close()
    assert ended[0] > 200


def test_resets_snapshots_and_copies_are_given_back():
    game = begun(territorial.VecGame(CONFIG, 2, seats=SEATS))

    def use() -> None:
        for _ in range(12):
            game.restore(1, game.save(0))
            game.clone().step()
            game.reset()

    # One board of 32 x 32 left behind by each of 12 turns would make it 12,000.
    assert least_growth(use, bytes_of_arrays, rounds=2) < 6_000
