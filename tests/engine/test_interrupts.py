"""Interrupted calls of a batch with threads: nobody stays at work, and later games are as in a fresh one."""

import faulthandler
import itertools
import os
import random
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.engine import calls as engine_calls
from territorial.engine import vec_game
from territorial.jit import thread_pool
from territorial.jit.thread_pool import TURNS, ThreadPool
from tests.episodes import advance, begun, difference

CONFIG = GameConfig(height=24, width=30, num_players=4, max_ticks=200)
GAMES = 7
# Where a KeyboardInterrupt can be raised while a batch is stepped.
FILES = tuple(module.__file__ for module in (engine_calls, vec_game, thread_pool))


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    played(batch(1))


@pytest.fixture(autouse=True)
def watch(capfd):
    """Return what begins the time anew after which all stacks are printed and the process ends."""
    with capfd.disabled():
        stderr = os.dup(2)  # not what pytest captures, which ends with the process

    def begin():
        faulthandler.dump_traceback_later(300, exit=True, file=stderr)

    begin()
    yield begin
    faulthandler.cancel_dump_traceback_later()
    os.close(stderr)


def batch(num_threads, **options):
    return VecGame(
        CONFIG, GAMES, seats=["novice", "metronome", "agent", "agent"], num_threads=num_threads, **options
    )


def played(game):
    """Return everything that a batch shows in its first steps from a seed on, step by step."""
    shown = [_copied(game.reset(seed=11))]
    for _ in range(3):
        observations, rewards, terminated, _, _ = game.step(hold=True)
        shown.append([*_copied(observations), rewards.copy(), terminated.copy()])
    return shown, [game.digest(k) for k in range(GAMES)]


def _copied(observations):
    """Return copies of what is shown; of the lists of changes, the entries that there are."""
    shown = {name: array.copy() for name, array in observations._asdict().items() if array is not None}
    room = np.arange(shown["delta_index"].shape[-1])
    is_unused = room >= np.maximum(shown["delta_count"], 0)[..., None]
    for name in ("delta_index", "delta_code"):
        shown[name][is_unused] = 0
    return list(shown.values())


def assert_plays_as_if_new(game, expected):
    assert difference(played(game), expected) is None


@contextmanager
def interrupted_at(number):
    """Raise KeyboardInterrupt where Python would, at the so-manieth place in FILES that the block comes to.

    Python looks for signals when a function begins, and when a call has returned.
    """
    seen = 0

    def look(frame, event, _argument):
        nonlocal seen
        if event in ("call", "c_return") and frame.f_code.co_filename in FILES:
            if seen == number:
                sys.setprofile(None)
                raise KeyboardInterrupt
            seen += 1

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("turns", [0, 2000])
@pytest.mark.parametrize("call", ["first step", "step", "reset", "close"])
def test_wherever_a_call_is_interrupted_the_next_games_are_those_of_a_fresh_batch(call, turns):
    expected, game = played(batch(1)), batch(3)
    game._calls.thread_pool.thread_states[1:, TURNS] = turns
    calls = {
        "first step": lambda: game.step(hold=True),
        "step": lambda: game.step(hold=True),
        "reset": game.reset,
        "close": game.close,
    }
    number, places = 0, 0
    while True:
        with ThreadPoolExecutor(1) as pool:  # other threads may use it, too
            pool.submit(assert_plays_as_if_new, game, expected).result()
        if call == "first step":
            game.close()  # so that threads have to be started
        try:
            with interrupted_at(number):
                calls[call]()
            break
        except KeyboardInterrupt:
            places += 1
        number += 1
    assert_plays_as_if_new(game, expected)
    assert places > 0
    game.close()


def test_an_interrupt_within_the_cleaning_up_after_an_interrupt_does_no_harm(monkeypatch):
    expected, game, cleaned_up = played(batch(1)), batch(3), []
    shutdown = ThreadPool.shutdown

    def retire_interrupted(pool, second):
        monkeypatch.setattr(ThreadPool, "shutdown", shutdown)
        cleaned_up.append(pool)
        with interrupted_at(second):
            pool.shutdown()

    for first, second in itertools.product(range(40), range(10)):
        assert_plays_as_if_new(game, expected)
        with suppress(KeyboardInterrupt), interrupted_at(first):
            monkeypatch.setattr(
                ThreadPool, "shutdown", lambda pool, second=second: retire_interrupted(pool, second)
            )
            game.step(hold=True)
        monkeypatch.setattr(ThreadPool, "shutdown", shutdown)
    assert cleaned_up
    assert_plays_as_if_new(game, expected)
    game.close()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("times", [60, pytest.param(20_000, marks=pytest.mark.verify)], ids=["some", "many"])
def test_a_signal_at_any_moment_leaves_nobody_at_work(times, watch):
    expected, game, generator = played(batch(1)), batch(3), random.Random(times)
    game.reset(seed=11)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    interrupts = 0
    try:
        while interrupts < times:
            watch()
            if generator.random() < 0.2:
                game.close()  # threads are started while the signal comes
            game._calls.thread_pool.thread_states[1:, TURNS] = generator.choice((0, 2000))
            try:
                signal.setitimer(signal.ITIMER_REAL, generator.uniform(1e-6, 1e-3))
                advance(game, 1000)
            except KeyboardInterrupt:
                interrupts += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert_plays_as_if_new(game, expected)
    finally:
        signal.signal(signal.SIGALRM, previous)
    game.close()


def test_a_pickle_holds_the_moment_at_which_it_was_taken():
    game = begun(batch(1), seed=11)
    state = game.__getstate__()
    before = [array.copy() for array in state["_arrays"].state]
    game.step(hold=True)
    assert all((a == b).all() for a, b in zip(before, state["_arrays"].state, strict=True))
