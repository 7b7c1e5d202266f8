#!/usr/bin/env python3
"""Counts what happens in a game, and from it what a step must cost at least: the floor.

    python benchmarks/engine/counts.py                 8 whole games at full size, half a minute
    python benchmarks/engine/counts.py --games 2       a look

Games of 32 bots are recorded and played again tick by tick. The counts do not depend on the machine or on
how the engine works. They are attack steps, captures, cells that change hands, blocks of 8 x 64 cells that
they lie in, borders, and the lines of 64 bytes of the observation that differ after a step.

The floor is these counts times the time of the smallest kernel for each, measured on this machine. These
kernels read and write such a block of two planes, and change a line of memory of 16 games in turn. The
result goes to benchmarks/results/counts.json, and from there into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import harness
from territorial.cli import options
from territorial.game.board import beside, place_of
from territorial.game.launches import LAUNCH_TICK
from territorial.jit.decorators import ONE, ZERO, kernel, lowest_bit
from territorial.jit.simd import EIGHT, eight, no_cells, put, rows_in, total, with_counts

RESULT = harness.RESULTS / "counts.json"
CONFIG = territorial.GameConfig()
SEATS = territorial.LINEUPS["mixed-1"].seats
PHASES = {"0-1k": (0, 1000), "1-2k": (1000, 2000), "2-4k": (2000, 4000), "4k+": (4000, 10**9)}
FRAMES = 4
GAMES_IN_TURN = 16
LINE = 64


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--games", type=options.whole(1, 1000), default=8, help="games to play (default %(default)s)"
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    steps = []
    for seed in range(parsed.games):
        harness.tell(f"game {seed + 1} of {parsed.games}")
        steps += list(steps_of(seed))
    result = {
        "games": parsed.games,
        "per_step": {"all": means(steps)}
        | {
            name: means([s for s in steps if first <= s["tick"] < end])
            for name, (first, end) in PHASES.items()
        },
        "smallest_ns": smallest_kernels(),
    }
    result["floor_us"] = {
        name: floor(counts, result["smallest_ns"]) for name, counts in result["per_step"].items() if counts
    }
    harness.write(parsed.json, result)
    print(json.dumps({name: result[name] for name in ("per_step", "smallest_ns", "floor_us")}, indent=2))
    return 0


def means(steps: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of every count, and of how many steps."""
    if not steps:
        return {}
    return {"steps": len(steps)} | {
        name: round(statistics.fmean(s[name] for s in steps), 2) for name in steps[0] if name != "tick"
    }


def floor(counts: dict[str, float], smallest: dict[str, float]) -> dict[str, float]:
    """Return microseconds that a step takes at least, by part."""
    parts = {
        "fronts": counts["blocks_of_fronts"] * smallest["find_and_take_a_block"],
        "observation": counts["lines_of_observation"] * smallest["change_a_line"],
    }
    us = {name: round(ns / 1000, 3) for name, ns in parts.items()}
    return us | {"sum": round(sum(us.values()), 3)}


# ---- counting ------------------------------------------------------------------------------------


def recorded(seed: int) -> territorial.Replay:
    """Return a whole game of the 32 bots."""
    with tempfile.TemporaryDirectory() as folder:
        game = territorial.VecGame(CONFIG, 1, seats=SEATS, observe=False, autoreset="disabled")
        with territorial.Recorder(game, folder) as recorder:
            game.reset(seeds=[seed])
            while not game.step()[-1]["ended"][0]:
                pass
            return recorder.replay(0)


def steps_of(seed: int) -> Iterator[dict[str, float]]:
    """Play a recorded game again, tick by tick, and yield the counts of every environment step."""
    replay = recorded(seed)
    bare = territorial.VecGame(CONFIG, 1, seats=SEATS, observe=False, autoreset="disabled")
    shown = territorial.VecGame(CONFIG, 1, seats=SEATS, frames=FRAMES, autoreset="disabled")
    bare.reset(seeds=[seed])
    shown.reset(seeds=[seed])
    before = lines_of(shown)
    for first in range(0, replay.num_ticks, CONFIG.decision_every):
        counts = dict.fromkeys(("attack_steps", "captures", "cells_taken", "blocks_of_fronts"), 0.0)
        living = int(bare.state.alive[0].sum())
        for tick in range(first, min(first + CONFIG.decision_every, replay.num_ticks)):
            count_tick(bare, replay.launches[replay.launches[:, LAUNCH_TICK] == tick], tick, counts)
        shown.step()
        after = lines_of(shown)
        yield counts | {
            "tick": first,
            "living": living,
            "cells_changed": max(0, int(shown.observations.delta_count[0])),
            "border_cells": int(shown.state.fronts[0].sum()),
            "lines_of_observation": sum(
                int((a != b).any(axis=1).sum()) for a, b in zip(before, after, strict=True)
            ),
        }
        before = after


def count_tick(
    game: territorial.VecGame, launches: npt.NDArray[Any], tick: int, counts: dict[str, float]
) -> None:
    """Play one tick and add what happened in it."""
    due, taken = game.state.due[0] <= tick, game.state.taken[0].copy()
    planes = game.state.planes[0].copy()
    game.play(0, launches, tick + 1)
    counts["attack_steps"] += int((due & (game.state.alive[0] != 0)).sum())
    gained = game.state.taken[0] - taken
    counts["captures"] += int((gained > 0).sum())
    counts["cells_taken"] += int(gained.sum())
    changed = (game.state.planes[0] ^ planes)[:, :, 1 : 1 - EIGHT]  # each cell in two planes
    counts["blocks_of_fronts"] += int(changed.reshape(*changed.shape[:2], -1, EIGHT).any(axis=3).sum()) / 2


def lines_of(game: territorial.VecGame) -> list[npt.NDArray[np.uint64]]:
    """Return copies of everything that is observed, in lines of 64 bytes."""
    lines = []
    for array in game.observations:
        raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        padded = np.zeros(-(-len(raw) // LINE) * LINE, np.uint8)
        padded[: len(raw)] = raw
        lines.append(padded.view(np.uint64).reshape(-1, LINE // 8))
    return lines


# ---- the smallest kernels ------------------------------------------------------------------------


def smallest_kernels() -> dict[str, float]:
    """Return nanoseconds: of a block of a front, found, counted and taken, and of a line changed."""
    rng = np.random.default_rng(0)
    planes = rng.integers(0, 2**64, (GAMES_IN_TURN, 3, 4, 258), dtype=np.uint64)
    blocks = np.full((4, 1), 2**32 - 1, np.uint64)
    lines = np.zeros((2**17, 8), np.uint64)  # 8 MB, as much as is observed of 16 games
    order = rng.permutation(len(lines))
    return {
        "find_and_take_a_block": fastest(lambda: take_blocks(planes, blocks), GAMES_IN_TURN * 4 * 32),
        "change_a_line": fastest(lambda: change_lines(lines, order), len(lines)),
    }


def fastest(call: Callable[[], Any], count: int) -> float:
    """Return the nanoseconds of one of ``count`` in a call, the least of many."""
    call()
    costs = []
    for _ in range(200):
        started = time.perf_counter()
        call()
        costs.append((time.perf_counter() - started) / count * 1e9)
    return round(min(costs), 2)


@kernel
def take_blocks(planes: Any, blocks: Any) -> int:
    """Find, count and take the front of owner 0 with owner 1 in every block; return how many cells."""
    sizes = no_cells()
    for k in range(planes.shape[0]):
        own, given = planes[k, 0], planes[k, 1]
        for s in range(planes.shape[2]):
            rest = blocks[s, 0]
            while rest != ZERO:
                place = place_of(own, s, 0, rest)
                front = beside(own, place) & eight(given, place)
                sizes = with_counts(sizes, front)
                put(own, place, eight(own, place) | front)
                put(given, place, eight(given, place) ^ front)
                rest &= rest - ONE
    return total(sizes) + lowest_bit(rows_in(sizes) | ONE)


@kernel
def change_lines(lines: Any, order: Any) -> None:
    """Change all lines, in an order that no prefetcher knows."""
    for i in range(len(order)):
        line = order[i]
        for j in range(8):
            lines[line, j] += ONE


if __name__ == "__main__":
    sys.exit(main())
