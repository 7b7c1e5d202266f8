"""Environments go to worker processes in mid-game, and play on there alike."""

import multiprocessing
import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils import aec_to_parallel

import territorial
from territorial import env
from territorial.jit.decorators import JIT_ENABLED
from tests.env.support import SMALL
from tests.episodes import difference

SEATS = ("agent", "metronome", "agent", "random")


def land_twice(previous, state, info):
    """Return a reward of a user's own, for every seat."""
    return 2 * (state.land - previous.land)[:, 1:]


GAME = SMALL | {"max_ticks": 900, "reward_fn": land_twice}
INTERFACES = {
    "parallel_env": lambda **options: territorial.parallel_env(seats=SEATS, **GAME, **options),
    "turn by turn": lambda **options: env(seats=SEATS, **GAME, **options),
    "make_vec": lambda **options: territorial.make_vec(3, seats=SEATS, **GAME, **options),
    "one seat": lambda **options: gymnasium.make("territorial/Territorial-v0", **GAME, **options),
    "vector": lambda **options: gymnasium.make_vec(
        "territorial/Territorial-v0", num_envs=4, seats=SEATS, **GAME, **options
    ),
}


def in_mid_game(make, **options):
    """Return an environment some steps after its reset, in which all agents act at once."""
    made = make(**options)
    made = aec_to_parallel(made) if hasattr(made, "agent_iter") else made
    made.reset(seed=5)
    next_steps(made)
    return made


def next_steps(played):
    """Return all that six more steps of holding show."""
    shown = []
    for _ in range(6):
        if isinstance(played, territorial.TerritorialVec):
            actions = np.zeros((3, 2), int)
        elif isinstance(played, gymnasium.vector.VectorEnv):
            actions = np.zeros(played.num_envs, int)
        else:
            actions = 0 if isinstance(played, gymnasium.Env) else dict.fromkeys(played.agents, 0)
        shown.append(tuple(played.step(actions)))
    return shown


def test_workers_play_on_what_is_sent_to_them():
    played = [in_mid_game(make, obs="features") for make in INTERFACES.values()]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(next_steps, played)
    assert difference(there, [next_steps(one) for one in played]) is None


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
