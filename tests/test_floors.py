"""What must never slip, as counts: calls, allocations and bytes of a step at full size, and compilations.

No count depends on the processor, on clocks, on load or on cores. Instructions of a step do depend on the
processor: ``benchmarks/engine/instructions.py --against`` compares them between revisions on one machine.
"""

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import territorial
from territorial.decode.store import FrameStore
from territorial.jit.thread_pool import ThreadPool
from tests.episodes import begun

CONFIG = territorial.GameConfig()
SEATS = territorial.LINEUPS["mixed-1"].seats
GAMES = 16


def step_of_engine():
    """Return a step of a batch of bots whose boards are observed."""
    return begun(territorial.VecGame(CONFIG, GAMES, seats=SEATS, frames=4), seed=0).step


def step_of_vec(**options):
    """Return a step of a vector environment in which all seats are agents."""
    env = begun(territorial.make_vec(GAMES, config=CONFIG, **options), seed=0)
    actions = np.zeros((GAMES, CONFIG.num_players), np.int64)
    return lambda: env.step(actions)


def step_of_parallel():
    """Return a step of one game of 32 agents, in dicts."""
    env = begun(territorial.parallel_env(config=CONFIG, obs="features"), seed=0)
    actions = dict.fromkeys(env.agents, 0)
    return lambda: env.step(actions)


# What makes a step; how many calls of Python it may take, and how many bytes it may allocate at a time.
STEPS = {
    "engine": (step_of_engine, 8, 2_000),
    "zero_copy": (lambda: step_of_vec(zero_copy=True), 60, 60_000),
    "packed": (step_of_vec, 100, 4_300_000),
    "features": (lambda: step_of_vec(obs="features"), 80, 2_400_000),
    "parallel": (step_of_parallel, 140, 200_000),
}


@pytest.fixture(params=STEPS)
def floor(request):
    make, calls, nbytes = STEPS[request.param]
    step = make()
    step()  # what is made once
    gc.collect()
    gc.disable()  # a collection would call what else waits for one
    yield step, calls, nbytes
    gc.enable()


def test_a_step_of_all_games_is_one_call_of_compiled_code(floor, monkeypatch):
    step, *_ = floor
    calls, run = [], ThreadPool.run
    monkeypatch.setattr(ThreadPool, "run", lambda *call: (calls.append(call), run(*call)))
    step()
    assert len(calls) == 1


def test_calls_of_python_in_a_step(floor):
    step, most, _ = floor
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        step()
    finally:
        sys.setprofile(None)
    assert 0 < len(calls) <= most, calls


def test_bytes_that_a_step_allocates(floor):
    step, _, most = floor
    tracemalloc.start()
    try:
        step()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        step()
        assert tracemalloc.get_traced_memory()[1] - before <= most
    finally:
        tracemalloc.stop()


def test_bytes_of_a_game_and_of_what_is_seen_of_it():
    observed = territorial.VecGame(CONFIG, GAMES, seats=SEATS, frames=4)
    bare = territorial.VecGame(CONFIG, GAMES, seats=SEATS, observe=False)
    assert observed.bytes_per_game <= 840_000
    assert bare.bytes_per_game <= 340_000
    assert sum(array.nbytes for array in observed.observations) <= GAMES * 246_000
    env = territorial.make_vec(GAMES, config=CONFIG, obs="features")
    assert env.reset(seed=0)[0]["observation"][0, 0].nbytes <= 4_000


def test_bytes_of_a_whole_game_in_a_frame_store():
    game = territorial.VecGame(CONFIG, 1, seats=SEATS, frames=1, autoreset="disabled")
    store = FrameStore(game.layout, 1)
    game.reset(seeds=[0])
    store.append(game.observations)
    while not game.step()[-1]["ended"][0]:
        store.append(game.observations)
    assert len(store) > 300
    assert store.nbytes / len(store) <= 3_000


PROCESS = """
import os, territorial
from territorial.memory.measure import measure
territorial.make_vec(1, zero_copy=True).reset(seed=0)
before = measure([os.getpid()]).total
env = territorial.make_vec(64, zero_copy=True)
env.reset(seed=0)
print((measure([os.getpid()]).total - before) / (64 * env.game.bytes_per_game))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is resident without psutil")
def test_a_process_with_64_games_takes_little_more_than_its_games():
    found = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True, check=True)
    assert 0.3 < float(found.stdout) < 1.6


# ---- memory over many games --------------------------------------------------------------------------


SMALL = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=500)
BOTS = ("metronome", "banker", "turtle", "random")


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
    game = begun(territorial.VecGame(SMALL, 16, seats=BOTS, num_threads=num_threads))
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
    game = begun(territorial.VecGame(SMALL, 2, seats=BOTS))

    def use() -> None:
        for _ in range(12):
            game.restore(1, game.save(0))
            game.clone().step()
            game.reset()

    # One board of 32 x 32 left behind by each of 12 turns would make it 12,000.
    assert least_growth(use, bytes_of_arrays, rounds=2) < 6_000
