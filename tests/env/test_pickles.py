"""What was pickled, copied or sent to a process in mid-game plays on alike, wherever its arrays lie."""

import copy
import multiprocessing
import os
import subprocess
import sys
from functools import partial

import gymnasium
import numpy as np
import pytest

from territorial import GameConfig, TerritorialEnv, TerritorialVec, VecGame, env, make_vec, parallel_env
from territorial.jit.decorators import JIT_ENABLED
from territorial.jit.library import CHOICE, NUMBA
from tests.env.copies import WAYS
from tests.episodes import difference

# 64 x 64 cells: terrain of 1,024 bytes a game, from which on protocol 4 frames arrays by themselves.
GAME = {"height": 64, "width": 64, "num_players": 4, "max_ticks": 200, "decision_every": 25, "map": "lakes"}
SEATS = ("agent", "metronome", "agent", "random")
# More than the 8 of a game.
STEPS = 12


def land_twice(previous, state, info):
    """Return a reward of a user's own, for every seat."""
    return 2 * (state.land - previous.land)[:, 1:]


def vec(**options):
    return make_vec(2, seats=SEATS, **GAME, **options)


MAKERS = {
    "VecGame": lambda: VecGame(GameConfig(**GAME), 2, seats=SEATS),
    "VecGame, maps of their own": lambda: VecGame(GameConfig(**GAME, num_maps=0), 2, seats=SEATS),
    "make_vec": vec,
    "make_vec, zero_copy": lambda: vec(zero_copy=True),
    "make_vec, pairs": lambda: vec(obs="pairs", action_format="pairs"),
    "make_vec, next_step": lambda: vec(autoreset="next_step", obs="features", reward_fn=land_twice),
    "make_vec, pictures": lambda: vec(render_mode="rgb_array", obs="features"),
    "parallel_env": lambda: parallel_env(seats=SEATS, **GAME),
    "env": lambda: env(seats=SEATS, obs="features", **GAME),
    "gym.make": lambda: gymnasium.make("territorial/Territorial-v0", **GAME),
    "gym.make_vec": lambda: gymnasium.make_vec(
        "territorial/Territorial-v0", num_envs=4, seats=SEATS, obs="pooled", **GAME
    ),
}


def begin(played, seed=None):
    """Return what a reset shows."""
    return played.reset(seed=seed)


def go_on(played, steps):
    """Play ``steps`` steps in which all hold; return copies of all that was shown."""
    shown = [copy.deepcopy(step(played)) for _ in range(steps)]
    if getattr(played, "render_mode", None) == "rgb_array":
        shown.append(played.render())
    return shown


def step(played):
    if isinstance(played, VecGame):
        return tuple(played.step(hold=True)[0])
    if isinstance(played, TerritorialVec):
        return played.step(np.zeros((2, 2), int))
    if isinstance(played, TerritorialEnv):
        return played.step(dict.fromkeys(played.agents, 0)) if played.agents else begin(played)
    if hasattr(played, "agent_iter"):
        if not played.agents:
            begin(played)
        last = played.last()
        played.step(None if last[2] or last[3] else 0)
        return last
    result = played.step(np.zeros(4, int) if hasattr(played, "num_envs") else 0)
    has_ended = not hasattr(played, "num_envs") and (result[2] or result[3])
    return (result, begin(played)) if has_ended else result


@pytest.mark.parametrize(
    "way", ["protocol 5", "out of band, read-only", "out of band, off by one", "copy", "deepcopy"]
)
@pytest.mark.parametrize("name", MAKERS)
def test_a_copy_plays_on_through_ends_and_resets(name, way):
    played = MAKERS[name]()
    begin(played, seed=7)
    go_on(played, 3)
    played = played.unwrapped if (name, way) == ("gym.make", "copy") else played  # a wrapper copies itself
    twin = WAYS[way](played)
    steps = 4 * STEPS if name == "env" else STEPS
    assert difference(go_on(played, steps), go_on(twin, steps)) is None
    assert difference(copy.deepcopy(begin(played)), copy.deepcopy(begin(twin))) is None
    assert difference(go_on(played, 2), go_on(twin, 2)) is None


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
import numpy as np
from territorial.jit import thread_pool
from territorial.jit.cache import KernelCache

loading, load = threading.Event(), KernelCache.load_overload

def call():
    thread_pool.are_working(np.zeros((2, thread_pool.WIDTH), np.int64), 1)

def slowly(*arguments):
    if not loading.is_set():
        loading.set()
        time.sleep(1)
    return load(*arguments)

KernelCache.load_overload = slowly
thread = threading.Thread(target=call)
thread.start()
assert loading.wait(300)
children = []
while thread.is_alive() and len(children) < 4:
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(300)
        call()
        os._exit(0)
thread.join()
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
def test_a_process_that_is_forked_while_a_kernel_is_loaded_calls_it():
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    assert subprocess.run(command, env=os.environ | {CHOICE: NUMBA}, check=False).returncode == 0
