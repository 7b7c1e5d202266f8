#!/usr/bin/env python3
"""What two threads do for 256 games, beside what they do for kernels that share nothing but the machine.

    chrt -f 50 python benchmarks/engine/threads.py          two minutes on a machine with nothing else to do

How much faster can it be? A kernel that only works in registers says whether the processors are
cores of their own or two threads of one core; one that copies memory says what of caches and memory they
share.
Then the engine, one thread against all, the same games at the same points of their lives. One thread and
all of them take turns, and the result is the median of the ratios, with the lowest and highest: other work on
the machine makes single ones wrong either way. The result goes to benchmarks/results/threads.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import territorial
from benchmarks import harness
from benchmarks.engine.scaling import CONFIG, CORES, FORMS, LIFE, LINE_UP, spread_out
from territorial.jit.decorators import ONE, kernel

RESULT = harness.RESULTS / "threads.json"
GAMES = 256
ROUNDS = 31
STEPS = 100  # a batch finds the caches full of the other's games first
MEGABYTES = {"in the second cache": 0.25, "in the third cache": 4, "in memory": 64}


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    if CORES < 2:
        parser.error("this process may use one processor; there is nothing to compare")
    rows = {"registers alone": gain_of([lambda: churn(10**8) for _ in range(CORES)])}
    for place, megabytes in MEGABYTES.items():
        harness.tell(place)
        rows[f"copies of {megabytes:g} MB, {place}"] = gain_of(copies(megabytes))
    for form, arguments in FORMS.items():
        harness.tell(form)
        rows[f"{GAMES} games, {form}"] = gain_of_threads(arguments)
    harness.tell("")
    result = {"threads": CORES, "gains": rows}
    harness.write(parsed.json, result)
    print(json.dumps(rows, indent=2))
    return 0


def gain_of(jobs: Sequence[Callable[[], Any]]) -> dict[str, float]:
    """Return how much more is done when all ``jobs``, equally long, run at once than one after the other."""
    for job in jobs:
        job()  # compiled, and its memory touched
    return summary([sum(together([job]) for job in jobs) / together(jobs) for _ in range(ROUNDS)])


def together(jobs: Sequence[Callable[[], Any]]) -> float:
    """Return the seconds that ``jobs`` take, each in a thread."""
    threads = [threading.Thread(target=job) for job in jobs]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def copies(megabytes: float) -> list[Callable[[], Any]]:
    """Return a job for every processor that copies memory of its own, so much read and written."""
    words, times = int(megabytes * 2**16), int(512 / megabytes)
    pairs = [(np.ones(words, np.uint64), np.ones(words, np.uint64)) for _ in range(CORES)]
    return [lambda pair=pair: copy(*pair, times) for pair in pairs]  # type: ignore[misc]


def gain_of_threads(arguments: dict[str, Any]) -> dict[str, float]:
    """Return how much faster all threads play the same games than one thread does."""
    batches = {threads: batch(threads, arguments) for threads in (1, CORES)}
    gains = []
    for number in range(ROUNDS):
        order = (1, CORES) if number % 2 == 0 else (CORES, 1)
        seconds = {threads: time_of(batches[threads]) for threads in order}
        gains.append(seconds[1] / seconds[CORES])
    for game in batches.values():
        game.close()
    return summary(gains)


def batch(num_threads: int, arguments: dict[str, Any]) -> territorial.VecGame:
    """Return the games at all points of their lives."""
    game = territorial.VecGame(CONFIG, GAMES, seats=LINE_UP, num_threads=num_threads, **arguments)
    spread_out(game, LIFE)
    return game


def time_of(game: territorial.VecGame) -> float:
    """Return the seconds of some steps."""
    game.step()
    started = time.perf_counter()
    for _ in range(STEPS):
        game.step()
    return time.perf_counter() - started


def summary(gains: Sequence[float]) -> dict[str, float]:
    """Return the median of ``gains``, the lowest and the highest."""
    found = {"median": statistics.median(gains), "lowest": min(gains), "highest": max(gains)}
    return {name: round(gain, 2) for name, gain in found.items()}


@kernel
def churn(times: int) -> Any:
    """Work in registers alone, four sums that do not wait for each other; return what comes out."""
    a, b, c, d = ONE, ONE, ONE, ONE
    for _ in range(times):
        a ^= a << ONE
        b += b >> ONE
        c ^= c << ONE
        d += d >> ONE
    return a ^ b ^ c ^ d


@kernel
def copy(source: Any, destination: Any, times: int) -> None:
    """Copy an array so many times."""
    for _ in range(times):
        for i in range(len(source)):
            destination[i] = source[i]


if __name__ == "__main__":
    sys.exit(main())
