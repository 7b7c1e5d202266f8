#!/usr/bin/env python3
"""Plays a million environment steps over games that replace each other, and watches the memory.

    python benchmarks/engine/flat_memory.py                  full size, about half a minute
    python benchmarks/engine/flat_memory.py --size small     the same in seconds

Exit code 1 if the memory in use grew by more than 2 % after the first tenth. The result, with the
machine and the versions, goes to benchmarks/results/flat_memory.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import territorial
from benchmarks import goals, harness
from territorial.cli import options
from territorial.cli.machine import resident_memory

NUM_GAMES = 16
WARM_UP = 0.1
"""Part of the steps before memory is compared: allocators and caches settle."""
LIMIT = goals.bound("flat_memory", "growth")
REPORTS = 40
RESULT = harness.RESULTS / "flat_memory.json"
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}


@dataclass
class MemoryReading:
    """Memory after some environment steps."""

    env_steps: int
    games_ended: int
    resident_bytes: int


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    if resident_memory()[0] is None:
        print("the memory of this process cannot be read here: install psutil", file=sys.stderr)
        return 1
    started = time.perf_counter()
    readings = play(CONFIGS[parsed.size], parsed.steps, parsed.seed)
    result = report(parsed, readings, time.perf_counter() - started)
    harness.write(parsed.json, result)
    print(
        f"{result['growth']:.4f} times the memory after the warm-up, {LIMIT} allowed: "
        f"{'flat' if result['is_flat'] else 'GROWING'}; written to {parsed.json}"
    )
    return 0 if result["is_flat"] else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, CONFIGS)
    parser.add_argument(
        "--steps",
        type=options.whole(1000, 10**9),
        default=1_000_000,
        help="environment steps to run (default %(default)s)",
    )
    options.add_seed_option(parser, "seed of the batch")
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def play(config: territorial.GameConfig, env_steps: int, seed: int) -> list[MemoryReading]:
    """Play ``env_steps`` with observations, as a trainer would, and return readings on the way."""
    lineup = territorial.LINEUPS["mixed-1"].seats
    game = territorial.VecGame(
        config, NUM_GAMES, seed=seed, seats=lineup[:: len(lineup) // config.num_players]
    )
    game.reset()
    steps, ended = env_steps // NUM_GAMES, 0
    marks = {steps * i // REPORTS for i in range(1, REPORTS + 1)} | {max(1, int(steps * WARM_UP))}
    readings = []
    for step in range(1, steps + 1):
        ended += int(game.step()[-1]["ended"].sum())
        if step in marks:
            _ = game.state.owner  # a lazily made buffer is part of the memory
            resident = resident_memory()[0] or 0
            readings.append(MemoryReading(step * NUM_GAMES, ended, resident))
            print(f"{step / steps:4.0%}  {ended:6,} games over  {resident / 1e6:8.2f} MB", flush=True)
    return readings


def report(parsed: argparse.Namespace, readings: list[MemoryReading], seconds: float) -> dict[str, Any]:
    """Return the result: the largest reading after the warm-up over the one at its end."""
    warm = [r.resident_bytes for r in readings if r.env_steps >= WARM_UP * parsed.steps - NUM_GAMES]
    growth = max(warm) / warm[0]
    return {
        "rules_version": territorial.RULES_VERSION,
        "config_digest": CONFIGS[parsed.size].hexdigest,
        "size": parsed.size,
        "seed": parsed.seed,
        "num_games": NUM_GAMES,
        "env_steps": readings[-1].env_steps,
        "games_ended": readings[-1].games_ended,
        "seconds": seconds,
        "resident_measure": resident_memory()[1],
        "growth": growth,
        "limit": LIMIT,
        "is_flat": growth <= LIMIT,
        "readings": [asdict(reading) for reading in readings],
    }


if __name__ == "__main__":
    sys.exit(main())
