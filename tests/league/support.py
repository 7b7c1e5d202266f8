"""What the tests of leagues share."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from territorial.bots import PythonBot
from territorial.evaluation.play import games_of
from territorial.evaluation.workers import Processes
from territorial.league import Manifest
from territorial.league.store import VERSIONS

# Children start from nothing, as those of trainers do: what they show of memory is their own.
SPAWN = multiprocessing.get_context("spawn")


def manifest(**fields: Any) -> Manifest:
    """Return a manifest; what is not given is the same every time."""
    given = {
        "architecture": "mlp",
        "observation": "features",
        "action_format": "discrete",
        "height": 64,
        "width": 64,
        "num_players": 4,
        "frames": 0,
        **VERSIONS,
    }
    return Manifest(**(given | fields))


def tensors(seed: int = 0) -> dict[str, np.ndarray]:
    """Return a few small tensors of several dtypes and shapes."""
    rng = np.random.default_rng(seed)
    return {
        "first.weight": rng.normal(size=(5, 3)).astype(np.float32),
        "first.bias": rng.normal(size=5).astype(np.float16),
        "steps": np.array(seed, np.int64),
        "mask": rng.random(7) < 0.5,
        "none": np.zeros((0, 4), np.float64),
    }


class Patient(PythonBot):
    """A bot in Python that never moves."""

    def __init__(self, name: str = "patient-1") -> None:
        self.name = name

    def decide(self, view: Any) -> Any:
        return -1, 1024


class Takes:
    """A policy that takes neutral land whenever it may, and counts what it is asked."""

    frames = 1

    def __init__(self) -> None:
        self.started, self.asked, self.stopped = 0, 0, 0

    def identity(self) -> str:
        return "takes 1"

    def start(self, config: Any, layout: Any, seed: Any) -> Any:
        self.started += 1

        def act(game: Any, games: Any, seats: Any) -> Any:
            assert game.observations.planes.shape[0] > games.max()
            self.asked += len(games)
            legal = game.observations.masks[games, seats - 1, 0] >> 1 & 1
            return np.stack([legal, np.full(len(games), 3)], axis=1)

        return act

    def stop(self) -> None:
        self.stopped += 1


# Where the processes of a pool wait for each other.
_barrier: Any = None


def two_processes() -> Any:
    """Return a pool of two new processes."""
    return SPAWN.Pool(2, _set_barrier, (SPAWN.Barrier(2),))


def _set_barrier(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def at_once(pool: Any, function: Callable[..., Any], calls: list[tuple]) -> list[Any]:
    """Return the results of ``function``, called with two tuples by the two processes of ``pool`` at once."""
    return pool.starmap(_when_both_are_there, [(function, call) for call in calls], chunksize=1)


def _when_both_are_there(function: Callable[..., Any], call: tuple) -> Any:
    _barrier.wait(300)
    return function(*call)


def play_games(schedule, play=None):
    """Yield the record of every game of a schedule."""
    play = play or Processes(1)
    return chain.from_iterable(play(games_of(schedule), schedule.chunks(processes=play.workers)))


def fixtures_of(schedule):
    """Return all games of a schedule."""
    return list(chain.from_iterable(schedule.chunks()))


KILLED = """
import itertools, os, sys
from importlib import import_module

module = import_module(sys.argv[1])

def killed_at(last):
    calls = itertools.count(1)
    def counted(function):
        def call(*args, **kwargs):
            if next(calls) == last:
                os._exit(9)  # as if the process were killed: nothing is cleaned up
            return function(*args, **kwargs)
        return call
    for name in ("mkdir", "rename", "fsync", "rmdir", "unlink", "open"):
        setattr(os, name, counted(getattr(os, name)))

for last in itertools.count(1):
    folder = f"{sys.argv[2]}/{last}"
    module.begin(folder)
    child = os.fork()
    if not child:
        killed_at(last)
        module.change(folder)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, flush=True)
    if code != 9:
        break
"""


def killed_at_every_call(module, folder):
    """Let ``change`` of a test module be killed at its first call of the system, the second and so on.

    Return after how many it was done; each was in a folder of its own, 1, 2 ..., in which ``begin`` was
    called before.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    command = [sys.executable, "-c", KILLED, module, str(folder)]
    text = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    *killed, finished = map(int, text.split())
    assert (finished, set(killed)) == (0, {9})
    assert len(killed) >= 15
    return len(killed)
