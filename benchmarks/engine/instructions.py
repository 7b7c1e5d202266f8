#!/usr/bin/env python3
"""Counts the instructions of a step, part by part: the same on every run, however busy the machine is.

    python benchmarks/engine/instructions.py                 four parts, 8 games, some minutes
    python benchmarks/engine/instructions.py --games 2       a look

Another process brings games to all points of their lives and plays one step more, one machine instruction
at a time (ptrace; Linux alone). What a call for no games takes is subtracted. The same step is timed at full
speed, from the same positions, and the clock of the processor with it: of a chain of operations that wait for
each other, each takes a cycle. So it shows how many instructions a cycle are done, where no counter of the
processor can be read. The result goes to benchmarks/results/instructions.json, and from there into
docs/performance.md.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import parts

import territorial
from territorial.cli import options
from territorial.cli.machine import machine, versions
from territorial.engine import step as stepping
from territorial.jit import thread_pool as _crew
from territorial.jit.decorators import entry_of, kernel

RESULT = Path(__file__).parents[1] / "results" / "instructions.json"
PARTS = (
    "rules and bots",
    "with tables and masks",
    "with the board and its changes",
    "with a stack of 4 boards",
)
TRACE_ME, RESUME, ONE_INSTRUCTION = 0, 7, 9
"""Requests of ptrace(2)."""
BEGIN, END = signal.SIGUSR1, signal.SIGUSR2
"""Signals by which the player says where to count from and to; the counter keeps them from arriving."""
TIMES = 40
CHAIN = 30_000_000


class CannotCountError(RuntimeError):
    """One process may not watch another here."""


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=options.whole(1, 64), default=8, help="games that play the step (8)")
    parser.add_argument("--side", type=options.whole(8, 1024), default=256, help="of the map, in cells (256)")
    parser.add_argument("--out", type=Path, default=RESULT, help=f"default {RESULT}")
    parser.add_argument("--play", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--any-size", action="store_true", help=argparse.SUPPRESS)
    parsed = parser.parse_args(argv)
    if parsed.play is not None:
        play(parsed.play, parsed.games, parsed.side, specialize=not parsed.any_size)
        return 0
    try:
        result = measure(parsed.games, parsed.side)
    except CannotCountError as error:
        print(error, file=sys.stderr)
        return 1
    for part, found in result["parts"].items():
        more = result["any_size"][part]["instructions"]
        print(f"{found['instructions']:10,.0f}  {found['per_cycle']:4.1f} a cycle  {part} ({more:,.0f})")
    parsed.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def measure(games: int, side: int) -> dict[str, Any]:
    """Return what a step of one game takes, by part, with code for the size and with that for any size."""
    found: dict[bool, dict[str, dict[str, float]]] = {True: {}, False: {}}
    for specialize, parts_found in found.items():
        for part in PARTS:
            print(f"\r{part:60}", end="\r", file=sys.stderr, flush=True)
            told, (none, all_of_them) = count(part, games, side, specialize=specialize)
            instructions = (all_of_them - none) / games
            parts_found[part] = {
                "instructions": round(instructions),
                "us": round(told["us"] / games, 3),
                "per_cycle": round(instructions * games / (told["us"] * 1000 * told["cycles_per_ns"]), 2),
            }
    return {
        "machine": machine(),
        "versions": versions(),
        "games": games,
        "side": side,
        "times": TIMES,
        "parts": found[True],
        "any_size": found[False],
    }


# ---- the process that counts ---------------------------------------------------------------------


def count(part: str, games: int, side: int, *, specialize: bool) -> tuple[dict[str, float], list[int]]:
    """Return what the player says of itself, and its instructions between every BEGIN and END."""
    if not sys.platform.startswith("linux"):
        raise CannotCountError(f"instructions are counted with ptrace, which {sys.platform} does not have")
    command = [sys.executable, __file__, "--play", part, "--games", str(games), "--side", str(side)]
    command += [] if specialize else ["--any-size"]
    libc = ctypes.CDLL(None, use_errno=True)
    player = subprocess.Popen(
        command, stdout=subprocess.PIPE, preexec_fn=lambda: libc.ptrace(TRACE_ME, 0, 0, 0)
    )
    counts: list[int] = []
    is_counting = False
    while True:
        _, status = os.waitpid(player.pid, 0)
        if not os.WIFSTOPPED(status):
            break
        stopped_by = os.WSTOPSIG(status)
        passed_on = 0
        if stopped_by == BEGIN:
            is_counting = True
            counts.append(0)
        elif stopped_by == END:
            is_counting = False
        elif stopped_by != signal.SIGTRAP:
            passed_on = stopped_by
        elif is_counting:
            counts[-1] += 1
        request = ONE_INSTRUCTION if is_counting else RESUME
        if libc.ptrace(request, player.pid, None, ctypes.c_void_p(passed_on)) != 0:
            raise CannotCountError(f"ptrace is refused here: {os.strerror(ctypes.get_errno())}")
    player.returncode = os.waitstatus_to_exitcode(status)
    assert player.stdout is not None
    with player.stdout as stdout:
        told = stdout.read()
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) != 0 or len(counts) != 2:
        raise CannotCountError(f"the process that plays ended with status {status}, having counted {counts}")
    result: dict[str, float] = json.loads(told)
    return result, counts


# ---- the process that plays ----------------------------------------------------------------------


def play(part: str, games: int, side: int, *, specialize: bool) -> None:
    """Time a step of all games, and let it be counted, after a call for none of them."""
    parts.NUM_GAMES, parts.CONFIG = games, territorial.GameConfig(height=side, width=side)
    game = parts.spread_out(**parts.BATCHES[part], specialize=specialize)
    saved = [game.save(k) for k in range(games)]
    costs = []
    for _ in range(TIMES):
        for k in range(games):
            game.restore(k, saved[k])
        game.step()  # brings what this step needs into the cache: the next is timed
        started = time.perf_counter()
        game.step()
        costs.append(time.perf_counter() - started)
    told = {"us": min(costs) * 1e6, "cycles_per_ns": cycles_per_ns()}
    for k in range(games):
        game.restore(k, saved[k])
    game.step()
    (held,) = game._batches or ()
    step_games = entry_of(stepping.step_games, held.type)
    queues, posts = game._crew.queues, game._crew.posts
    for first in (games, 0):
        queues[0, _crew.NEXT], posts[0, _crew.STATE] = first, _crew.CALLED
        signal.raise_signal(BEGIN)
        step_games(held)
        signal.raise_signal(END)
    print(json.dumps(told))


def cycles_per_ns() -> float:
    """Return how many cycles the processor does in a nanosecond, from a chain of CHAIN times six of them."""
    out = np.ones(1, np.uint64)
    costs = []
    for _ in range(5):
        started = time.perf_counter()
        chain(out, CHAIN)
        costs.append(time.perf_counter() - started)
    return 6 * CHAIN / (min(costs) * 1e9)


@kernel
def chain(out: Any, times: int) -> None:
    """Shift and add, each waiting for the one before."""
    number = out[0]
    for _ in range(times):
        number ^= number << np.uint64(13)
        number ^= number >> np.uint64(7)
        number ^= number << np.uint64(17)
    out[0] = number


if __name__ == "__main__":
    sys.exit(main())
