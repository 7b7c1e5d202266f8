"""Threads that share games: every game once, whoever is awake, and nobody waits for who comes too late."""

import gc
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.jit import thread_pool
from territorial.jit.decorators import JIT_ENABLED, kernel
from territorial.jit.thread_pool import (
    ASLEEP,
    CALLED,
    END,
    FIRST,
    NEXT,
    STATE,
    TURNS,
    WATCHING,
    WIDTH,
    WORKING,
    ThreadPool,
    are_working,
    begins,
    call_all,
    queues_of,
    refill,
    take,
)
from territorial.replay import Recorder
from tests.episodes import advance, after_steps
from tests.play.sessions import wait_for

# Turns, a hundredth of a second or so, that a thread stays awake after a call.
AWAKE = 10**6 if JIT_ENABLED else 0
# Against hanging: nothing takes so long, however busy the machine is.
SECONDS = 300


@kernel
def take_all(queues, thread, times):
    """Count how often every number is taken."""
    number = take(queues, thread)
    while number >= 0:
        times[number] += 1
        number = take(queues, thread)


@kernel
def work(queues, thread_state, thread, times):
    """Do so, again and again."""
    while begins(thread_state):
        take_all(queues, thread, times)


def run(pool, times):
    pool.run(
        lambda thread: work(pool.queues, pool.thread_states[thread], thread, times),
        range(len(pool.thread_states)),
    )


# ---- queues ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("games", [1, 2, 7, 8, 17, 64, 255])
def test_every_thread_has_about_as_many_games_and_any_thread_takes_all(games, threads):
    queues = queues_of(3, 3 + games, threads)
    numbers = np.concatenate([np.arange(queue[FIRST], queue[END]) for queue in queues])
    assert numbers.tolist() == list(range(3, 3 + games))
    sizes = queues[:, END] - queues[:, FIRST]
    assert sizes.max() - sizes.min() <= 1
    for thread in range(threads):
        refill(queues)
        times = np.zeros(games + 3, np.int64)
        take_all(queues, thread, times)
        assert times.tolist() == [0, 0, 0] + [1] * games


def test_threads_never_take_the_same_games():
    count = 2_000_000 if JIT_ENABLED else 2_000
    queues, times = queues_of(0, count, 4), np.zeros((4, count), np.int64)
    take_all(queues_of(0, 0), 0, times[0])  # compiled
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take_all, [queues] * 4, range(4), times))
    assert (times.sum(axis=0) == 1).all()


# ---- thread states -----------------------------------------------------------------------------------


def test_those_who_sleep_are_to_be_woken_and_the_late_are_not_waited_for():
    thread_states, asleep = np.zeros((4, WIDTH), np.int64), np.zeros(4, np.int64)
    thread_states[2, STATE] = WATCHING
    assert asleep[: call_all(thread_states, asleep)].tolist() == [1, 3]
    assert thread_states[:, STATE].tolist() == [CALLED] * 4
    assert not are_working(thread_states, 0)
    assert thread_states[1:, STATE].tolist() == [WATCHING] * 3  # on their way, they need not be woken again
    assert call_all(thread_states, asleep) == 0
    for state in (WORKING, WATCHING):
        thread_states[3, STATE] = state
        assert {are_working(thread_states, turns) for turns in (0, 10)} == {state == WORKING}


# ---- the pool ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 100, 10_000])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_game_is_taken_once_a_call_whether_threads_sleep_or_watch(threads, turns):
    pool, times = ThreadPool(23, threads), np.zeros(23, np.int64)
    pool.thread_states[1:, TURNS] = turns
    for i in range(100 if JIT_ENABLED else 30):
        run(pool, times)
        assert (times == i + 1).all()
    pool.shutdown()
    assert (pool.thread_states[:, STATE] == ASLEEP).all()


@pytest.mark.skipif(not JIT_ENABLED, reason="a thread that watches would hold the GIL")
@pytest.mark.parametrize(("turns", "expected"), [(2**60, 1), (0, 10)])
def test_threads_that_watch_are_not_woken_and_those_that_sleep_are(turns, expected, monkeypatch):
    pool, times, woken = ThreadPool(50, 2), np.zeros(50, np.int64), []
    pool.thread_states[1:, TURNS] = 0
    run(pool, times)  # compiled
    pool.shutdown()
    pool.thread_states[1:, TURNS] = turns
    attend = ThreadPool._attend
    monkeypatch.setattr(ThreadPool, "_attend", lambda *args: woken.append(1) or attend(*args))
    for _ in range(10):
        run(pool, times)
        if turns == 0:
            wait_until_asleep(pool)  # it may have come too late, and be on its way
    pool.thread_states[1, [TURNS, STATE]] = 0, CALLED if turns else ASLEEP  # else it would watch for ever
    wait_until_asleep(pool)
    pool.shutdown()
    assert len(woken) == expected


def wait_until_asleep(pool):
    while pool.thread_states[1, STATE] != ASLEEP:
        time.sleep(0.001)


def test_threads_that_have_to_take_turns_at_a_core_do_not_watch(monkeypatch):
    monkeypatch.setattr(thread_pool, "usable_cores", lambda: 4)
    assert (ThreadPool(9, 4).thread_states[1:, TURNS] > 0).all() == JIT_ENABLED
    assert not any(ThreadPool(9, threads).thread_states[:, TURNS].any() for threads in (1, 5))


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_ends_the_call_and_the_next_one_works(failing):
    pool, times, tries = ThreadPool(6, 2), np.zeros(6, np.int64), []

    def call(thread):
        if thread == failing and not tries:
            assert begins(pool.thread_states[thread])
            tries.append(thread)
            raise ArithmeticError("nothing to take")
        while not tries:  # until the other has begun
            time.sleep(0.001)
        work(pool.queues, pool.thread_states[thread], thread, times)

    with pytest.raises(ArithmeticError, match="nothing to take"):
        pool.run(call, range(2))
    assert tries == [failing]
    times[:] = 0
    run(pool, times)
    assert times.tolist() == [1] * 6
    pool.shutdown()


def test_a_thread_still_at_work_after_an_interrupted_call_is_waited_for_and_takes_nothing_more():
    pool, begun, goes_on, taken = ThreadPool(6, 2), threading.Event(), threading.Event(), []

    def call(thread):
        if thread == 1:
            begun.set()
            goes_on.wait(SECONDS)
            taken.append(pool.queues[:, NEXT].tolist())
        else:
            begun.wait(SECONDS)
            threading.Timer(0.1, goes_on.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run(call, range(2))
    assert taken == [[3, 6]]  # the ends of both queues
    times = np.zeros(6, np.int64)
    run(pool, times)
    assert times.tolist() == [1] * 6
    pool.shutdown()


def test_a_thread_that_never_ends_is_given_up_and_is_not_forgotten(monkeypatch):
    pool, goes_on = ThreadPool(6, 2), threading.Event()
    monkeypatch.setattr(thread_pool, "STOP_TIMEOUT_S", 0.01)
    run(pool, np.zeros(6, np.int64))
    pool._threads.jobs[0].put(lambda: goes_on.wait(SECONDS))
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match=r"1 threads of an interrupted or failed step .* still running after 0\.01 s"
        ):
            pool.shutdown()
        assert pool.is_interrupted
    monkeypatch.setattr(thread_pool, "STOP_TIMEOUT_S", SECONDS)
    goes_on.set()
    pool.shutdown()
    assert not pool.is_interrupted


def test_threads_end_with_the_batch_that_they_work_for():
    pool = ThreadPool(6, 3)
    run(pool, np.zeros(6, np.int64))
    gone = pool._threads._gone
    del pool
    gc.collect()
    wait_for(lambda: len(gone) == 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    pool, times = ThreadPool(40, 2), np.zeros(40, np.int64)
    pool.thread_states[1:, TURNS] = AWAKE
    run(pool, times)
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            signal.alarm(SECONDS)
            for _ in range(9):
                run(pool, times)
            os._exit(0 if times.tolist() == [10] * 40 else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run(pool, times)
    assert times.tolist() == [2] * 40
    pool.shutdown()


# ---- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 10_000])
def test_what_a_thread_was_given_before_is_not_used_once_it_has_changed(turns, tmp_path):
    config = GameConfig(height=24, width=30, num_players=4, max_ticks=400)
    games = [VecGame(config, 16, seed=3, seats=["novice"] * 4, num_threads=threads) for threads in (1, 2)]
    recorded = []
    for game in games:
        game._calls.thread_pool.thread_states[1:, TURNS] = turns
        after_steps(game, 5)
        path = tmp_path / f"{game.num_threads}"
        with Recorder(game, path):  # from now on, launches are logged: other arguments for the kernels
            advance(game, 80)
        recorded.append({file.name: file.read_bytes() for file in sorted(path.iterdir())})
        game.close()
    assert recorded[0] == recorded[1]
    assert len(recorded[0]) > 0
