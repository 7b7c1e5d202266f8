#!/usr/bin/env python3
"""Plays a million environment steps and watches the memory.

    python benchmarks/engine/flat_memory.py                  full size, about half a minute
    python benchmarks/engine/flat_memory.py --size small     the same in seconds

Exit code 1 if the memory in use grew by more than LIMIT allows after the first tenth.
"""

import os
import sys

import territorial
from benchmarks import harness
from territorial.cli import options
from territorial.memory.measure import measure

NUM_GAMES = 16
WARM_UP = 0.1
"""Part of the steps before memory is compared: allocators and caches settle."""
LIMIT = 1.02
REPORTS = 40
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_size(parser, CONFIGS)
    parser.add_argument(
        "--steps",
        type=options.whole(1000, 10**9),
        default=1_000_000,
        help="environment steps to run (default %(default)s)",
    )
    options.add_seed_option(parser, "seed of the batch")
    parsed = parser.parse_args(argv)
    readings = play(CONFIGS[parsed.size], parsed.steps // NUM_GAMES, parsed.seed)
    warm = list(readings.values())[int(WARM_UP * REPORTS) - 1 :]
    growth = max(warm) / warm[0]
    print(f"{growth:.4f} times the memory after the warm-up, {LIMIT} allowed")
    harness.write(parsed.json, {"size": parsed.size, "growth": growth, "readings": readings})
    return int(growth > LIMIT)


def play(config: territorial.GameConfig, steps: int, seed: int) -> dict[int, int]:
    """Play with observations, as a trainer would, and return the bytes that the process holds, by step."""
    lineup = territorial.LINEUPS["mixed-1"].seats
    seats = lineup[:: len(lineup) // config.num_players]
    game = territorial.VecGame(config, NUM_GAMES, seed=seed, seats=seats)
    game.reset()
    ended, readings = 0, {}
    marks = {steps * i // REPORTS for i in range(1, REPORTS + 1)}
    for step in range(1, steps + 1):
        ended += int(game.step()[-1]["ended"].sum())
        if step in marks:
            _ = game.state.owner  # a lazily made buffer is part of the memory
            readings[step] = measure([os.getpid()]).total
            print(f"{step / steps:4.0%}  {ended:6,} games over  {readings[step] / 1e6:8.2f} MB", flush=True)
    return readings


if __name__ == "__main__":
    sys.exit(main())
