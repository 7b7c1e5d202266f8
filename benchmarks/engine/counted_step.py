"""Plays the step that ``benchmarks/engine/instructions.py`` counts, in a process of its own.

PYTHONPATH says which revision of the package is counted. Beyond the public interface this needs a few names
whose modules have moved; ``NAMES`` is the one place that says where to look for them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import parts

import territorial

BEGIN, END = signal.SIGUSR1, signal.SIGUSR2
"""Signals between which instructions are counted; they do not arrive, as the counter keeps them."""
CHAIN = 30_000_000

NAMES: dict[str, tuple[str, ...]] = {
    "step_games": ("territorial.engine.step", "territorial.stepping"),
    "entry_of": ("territorial.jit.decorators", "territorial._jit"),
    "NEXT": ("territorial.jit.thread_pool", "territorial._crew"),
    "STATE": ("territorial.jit.thread_pool", "territorial._crew"),
    "CALLED": ("territorial.jit.thread_pool", "territorial._crew"),
}
"""For every private name the modules that may have it, newest first."""


def found(name: str) -> Any:
    """Return the object called ``name`` from the first module of ``NAMES[name]`` that this revision has."""
    for module in NAMES[name]:
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # a module that is there needs one that is not
        except AttributeError:
            continue
    raise ImportError(f"{territorial.__file__} has no {name} in any of {', '.join(NAMES[name])}")


def play(part: str, games: int, side: int, times: int, *, specialize: bool) -> None:
    """Time a step of ``games`` games ``times`` times, then let it be counted, for none and then for all.

    Prints as JSON: ``us``, the least time of the step; ``cycles_per_ns``; ``digest`` of the games after it.
    """
    parts.NUM_GAMES, parts.CONFIG = games, territorial.GameConfig(height=side, width=side)
    game = parts.spread_out(**parts.BATCHES[part], specialize=specialize)
    saved = [game.save(k) for k in range(games)]
    costs = []
    for _ in range(times):
        for k in range(games):
            game.restore(k, saved[k])
        game.step()  # brings what this step needs into the cache: the next is timed
        started = time.perf_counter()
        game.step()
        costs.append(time.perf_counter() - started)
    for k in range(games):
        game.restore(k, saved[k])
    game.step()
    cycles = cycles_per_ns()
    count_step(game, games)
    digest = hashlib.blake2b(digest_size=8)
    for k in range(games):
        digest.update(game.digest(k))
    print(json.dumps({"us": min(costs) * 1e6, "cycles_per_ns": cycles, "digest": digest.hexdigest()}))


def count_step(game: territorial.VecGame, games: int) -> None:
    """Call the compiled step for no games, then for all, each between the signals of a count."""
    held = held_of(game)
    step_games = found("entry_of")(found("step_games"), held.type)
    crew = game._workers.crew if hasattr(game, "_workers") else game._crew
    queues, posts = crew.queues, crew.posts
    next_game, state, called = found("NEXT"), found("STATE"), found("CALLED")
    for first in (games, 0):  # a queue whose next game is beyond the last holds none
        queues[0, next_game], posts[0, state] = first, called
        signal.raise_signal(BEGIN)
        step_games(held)
        signal.raise_signal(END)


def held_of(game: territorial.VecGame) -> Any:
    """Return what the compiled step is given; earlier revisions have that in other places."""
    if hasattr(game, "_batches"):
        return game._batches[0]
    calls = game._workers.calls if hasattr(game, "_workers") else game._compiled()
    return calls._step[1][0]


def cycles_per_ns() -> float:
    """Return how many cycles the processor does in a nanosecond, from a chain of CHAIN times six of them."""
    out = np.ones(1, np.uint64)
    costs = []
    for _ in range(5):
        started = time.perf_counter()
        chain(out, CHAIN)
        costs.append(time.perf_counter() - started)
    return 6 * CHAIN / (min(costs) * 1e9)


@numba.njit
def chain(out: Any, times: int) -> None:
    """Shift and add, each waiting for the one before."""
    number = out[0]
    for _ in range(times):
        number ^= number << np.uint64(13)
        number ^= number >> np.uint64(7)
        number ^= number << np.uint64(17)
    out[0] = number


if __name__ == "__main__":
    play(sys.argv[1], *map(int, sys.argv[2:5]), specialize=sys.argv[5] == "one size")
