#!/usr/bin/env python3
"""What the engine's own mechanisms buy: each beside the plain way of doing the same, in the same run.

    python benchmarks/engine/mechanisms.py          some minutes on a machine with nothing else to do

Three things are not plain numba. Each has to save a tenth of the time of users' steps, or it goes:

* code for one size of board, beside code for any size;
* arguments that are unboxed once, beside a tuple of arrays that every call unboxes;
* threads that take games from queues and spin before they sleep, beside threads that sleep on a queue of
  Python's, each with a fixed part of the games.

They are measured in games of bots alone and in games observed through ``make_vec``, of 1, 16 and 256 games.
The ways take turns on the same games, and the result is the median of the ratios of their times, with the
quartiles. It goes to benchmarks/results/mechanisms.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

import territorial
from benchmarks import harness
from benchmarks.engine.scaling import LIFE, spread_out
from territorial.engine.compiled_calls import CompiledCalls
from territorial.engine.step import Batch, step_game
from territorial.jit.bound_arguments import Held, arguments_of
from territorial.jit.decorators import kernel
from territorial.jit.thread_pool import refill, take

RESULT = harness.RESULTS / "mechanisms.json"
LINE_UP = territorial.LINEUPS["mixed-1"].seats
AGENTS = ["agent", *LINE_UP[1:]]
ROUNDS = 31
SECONDS = 0.1
"""Of one turn, about."""


@kernel
def step_unboxed_every_time(batch: Batch, held: Held[Batch]) -> None:
    """Do what ``step.step_games`` does, with arguments as numba takes them; ``held`` is for resets."""
    k = take(batch.queues, batch.thread)
    while k >= 0:
        step_game(held, batch, k)
        k = take(batch.queues, batch.thread)


@kernel
def step_queues(held: Held[Batch]) -> None:
    """Step the games that ``take`` gives."""
    batch = arguments_of(held)
    k = take(batch.queues, batch.thread)
    while k >= 0:
        step_game(held, batch, k)
        k = take(batch.queues, batch.thread)


@kernel
def step_range(held: Held[Batch], first: int, end: int) -> None:
    """Step the games [first, end)."""
    batch = arguments_of(held)
    for k in range(first, end):
        step_game(held, batch, k)


class AnySize(CompiledCalls):
    """Code for any size of board."""

    is_specialized = False


class OneSize(CompiledCalls):
    """Code for one size of board."""

    is_specialized = True


class UnboxedEveryTime(CompiledCalls):
    """Plain arguments, and so code for any size."""

    def step_games(self) -> None:
        """Play one step of all games."""
        refill(self._crew.queues)
        step_unboxed_every_time(self._batches[0], self.held[0])


class Sleeping(CompiledCalls):
    """Threads that sleep on a queue of Python's; they take games from queues."""

    def step_games(self) -> None:
        """Play one step of all games."""
        if not hasattr(self, "_jobs"):
            threads = len(self._batches)
            self._bounds = np.linspace(0, len(self._batches[0].actions), threads + 1).astype(int).tolist()
            self._jobs: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(threads - 1)]
            self._done: SimpleQueue[bool] = SimpleQueue()
            self._play_part(0)
            for i, jobs in enumerate(self._jobs, 1):
                Thread(target=self._serve, args=(i, jobs), daemon=True).start()
            return
        refill(self._crew.queues)
        for jobs in self._jobs:
            jobs.put(True)
        self._play_part(0)
        for _ in self._jobs:
            self._done.get()

    def _play_part(self, i: int) -> None:
        step_queues(self.held[i])

    def _serve(self, i: int, jobs: SimpleQueue[bool]) -> None:
        while jobs.get():
            self._play_part(i)
            self._done.put(True)


class FixedParts(Sleeping):
    """The same, but each has its part of the games."""

    def _play_part(self, i: int) -> None:
        step_range(self.held[i], self._bounds[i], self._bounds[i + 1])


def bots_alone(kind: type, num_games: int, num_threads: int) -> Callable[[], Any]:
    """Return the step of a batch of bots, at all points of their games."""
    config = territorial.GameConfig()
    game = territorial.VecGame(config, num_games, seats=LINE_UP, num_threads=num_threads, observe=False)
    game._workers.calls.__class__ = kind
    spread_out(game, LIFE)
    return lambda: game.step()


def through_make_vec(obs: str) -> Callable[[type, int, int], Callable[[], Any]]:
    def step_of(kind: type, num_games: int, num_threads: int) -> Callable[[], Any]:
        env = territorial.make_vec(num_games, seats=AGENTS, obs=obs, num_threads=num_threads)
        env.game._workers.calls.__class__ = kind
        env.reset(seed=0)
        actions = np.zeros((num_games, 1), np.int64)
        return lambda: env.step(actions)

    return step_of


FORMS = {
    "bots alone": bots_alone,
    "make_vec, packed boards": through_make_vec("packed"),
    "make_vec, features": through_make_vec("features"),
}


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    harness.add_json(parser, RESULT)
    harness.add_rounds(parser, ROUNDS)
    parsed = parser.parse_args(argv)
    rows: dict[str, dict[str, Any]] = {}
    for form, step_of in FORMS.items():
        for games in (1, 16, 256):
            rows |= compare(f"{form}, {games} games", step_of, games, parsed.rounds)
    result = {"rounds": parsed.rounds, "rows": rows}
    harness.write(parsed.json, result)
    return 0


def compare(name: str, step_of: Any, games: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Return a row for each mechanism: how many times as long the plain way takes."""
    one = {kind: step_of(kind, games, 1) for kind in (OneSize, AnySize, UnboxedEveryTime)}
    found = {
        f"one size, {name}": ratio(one[AnySize], one[OneSize], rounds),
        f"unboxed once, {name}": ratio(one[UnboxedEveryTime], one[AnySize], rounds),
    }
    if games > 1:
        two = {kind: step_of(kind, games, 2) for kind in (AnySize, Sleeping, FixedParts)}
        found[f"two threads that spin, {name}"] = ratio(two[Sleeping], two[AnySize], rounds)
        found[f"two threads that steal, {name}"] = ratio(two[FixedParts], two[Sleeping], rounds)
    for row, values in found.items():
        print(f"{values['median']:5.2f} ({values['low']:.2f} to {values['high']:.2f})  {row}", flush=True)
    return found


def ratio(plain: Callable[[], Any], ours: Callable[[], Any], rounds: int) -> dict[str, float]:
    """Return how many times as long ``plain`` takes as ``ours``: the median of ``rounds``, and quartiles."""
    steps = {step: steps_in(step) for step in (plain, ours)}
    number = min(steps.values())
    ratios = []
    for i in range(rounds):
        order = (plain, ours) if i % 2 == 0 else (ours, plain)
        seconds = {step: time_of(step, number) for step in order}
        ratios.append(seconds[plain] / seconds[ours])
    low, median, high = statistics.quantiles(ratios, n=4)
    return {"median": round(median, 3), "low": round(low, 3), "high": round(high, 3)}


def steps_in(step: Callable[[], Any]) -> int:
    """Return how many steps take about SECONDS."""
    time_of(step, 3)
    return max(3, int(SECONDS / (time_of(step, 20) / 20)))


def time_of(step: Callable[[], Any], number: int) -> float:
    """Return the seconds of so many steps, after one that finds the caches full of other games."""
    step()
    started = time.perf_counter()
    for _ in range(number):
        step()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
