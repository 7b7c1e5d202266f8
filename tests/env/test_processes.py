"""Environments go to worker processes in mid-game, and play on there alike."""

import multiprocessing
import os
import subprocess
import sys
from functools import partial

import pytest

import territorial
from territorial.jit.decorators import JIT_ENABLED
from tests.env.test_pickles import MAKERS, begin, go_on
from tests.episodes import difference


def test_workers_play_on_what_is_sent_to_them():
    played = [make() for name, make in MAKERS.items() if name != "make_vec, pictures"]
    for one in played:
        begin(one, seed=5)
        go_on(one, 3)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(partial(go_on, steps=6), played)
    assert difference(there, [go_on(one, 6) for one in played]) is None


FORKED = """
import os, signal, sys, threading, time
import territorial
from territorial.jit.cache import KernelCache

loading, load = threading.Event(), KernelCache.load_overload

def reset():
    territorial.make_vec(2, height=24, width=24, num_players=4).reset(seed=1)

def slowly(*arguments):
    if not loading.is_set():
        loading.set()
        time.sleep(1)
    return load(*arguments)

KernelCache.load_overload = slowly
thread = threading.Thread(target=reset)
thread.start()
loading.wait()
children = []
while thread.is_alive() and len(children) < 4:
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(300)
        reset()
        os._exit(0)
thread.join()
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
def test_a_process_that_is_forked_while_a_kernel_is_loaded_plays():
    territorial.make_vec(2, height=24, width=24, num_players=4).reset(seed=1)  # compiles
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    assert subprocess.run(command, check=False).returncode == 0
