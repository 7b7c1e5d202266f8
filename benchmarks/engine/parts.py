#!/usr/bin/env python3
"""Times parts of the engine: rules, bots, tables, boards, resets.

    python benchmarks/engine/parts.py                    all parts, half a minute
    python benchmarks/engine/parts.py --steps 100        a look
    python benchmarks/engine/parts.py --json parts.json
    python benchmarks/engine/parts.py --rounds 5     beside other work: of each part the quietest round

It uses the public interface alone, so that it can time an older revision of the package as well, which
``compare.py`` does: PYTHONPATH says which. Every part plays the same games each time, a fixed number of
steps. The digest of where they end goes with the times. Two revisions that differ in it have not played the
same games, and their times cannot be compared. Times are medians over chunks, in microseconds.
"""

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import territorial

CONFIG = territorial.GameConfig()
SEATS = territorial.LINEUPS["mixed-1"].seats
NUM_GAMES = 16
LIFE = 480
"""Steps over which the games are spread, about the length of one."""
CHUNKS = 20

BATCHES: dict[str, dict[str, Any]] = {
    "rules and bots": {"observe": False},
    "with tables and masks": {"frames": 0},
    "with the board and its changes": {"frames": 1},
    "with a stack of 4 boards": {"frames": 4},
    "a decision every tick, rules and bots": {"observe": False, "decision_every": 1},
    "a decision every tick, with a stack of 4 boards": {"frames": 4, "decision_every": 1},
}
"""A step of one game among NUM_GAMES, by what a batch observes."""


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=600,
        help="environment steps to run; so many of each batch; 20 or more (default %(default)s)",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the result as JSON to FILE; - is stdout, without the text"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="times that each case is measured (default %(default)s)"
    )
    parsed = parser.parse_args(argv)
    if parsed.steps < CHUNKS:
        parser.error(f"--steps is {parsed.steps}; it must be {CHUNKS} or more")
    if parsed.rounds < 1:
        parser.error(f"--rounds is {parsed.rounds}; it must be 1 or more")
    result = quietest([measure(parsed.steps) for _ in range(parsed.rounds)])
    if parsed.json == "-":
        print(json.dumps(result))
        return 0
    for part, us in result["us"].items():
        print(f"{us:10.2f} us  {part}")
    if parsed.json:
        Path(parsed.json).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def quietest(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the least time of every part over ``rounds``, which must have played the same games."""
    if len({one["digest"] for one in rounds}) != 1:
        raise RuntimeError(
            "the same games came to different ends in different rounds: that is a fault of the engine"
        )
    us = {part: min(one["us"][part] for one in rounds) for part in rounds[0]["us"]}
    return rounds[0] | {"us": us, "rounds": len(rounds)}


def measure(steps: int) -> dict[str, Any]:
    """Return the microseconds of every part, and the digest of all games that were played."""
    us: dict[str, float] = {}
    digest = hashlib.blake2b(digest_size=8)
    us["rules alone, one game"] = rules_alone(digest)
    for part, arguments in BATCHES.items():
        progress(part)
        game = spread_out(**arguments)
        us[part] = median_of(game.step, steps) / NUM_GAMES
        for k in range(NUM_GAMES):
            digest.update(game.digest(k))
        game.close()
    progress("one game")
    us |= one_game(steps)
    progress("")
    return {"us": us, "digest": digest.hexdigest(), "rules_version": territorial.RULES_VERSION}


def progress(part: str) -> None:
    """Show on stderr what is being timed."""
    print(f"\r{part:60}", end="\r", file=sys.stderr, flush=True)


def median_of(call: Callable[[], Any], times: int) -> float:
    """Return the microseconds of one call: the median over chunks of ``times`` calls in all."""
    chunk, costs = times // CHUNKS, []
    for _ in range(CHUNKS):
        started = time.perf_counter()
        for _ in range(chunk):
            call()
        costs.append((time.perf_counter() - started) / chunk * 1e6)
    return statistics.median(costs)


def spread_out(decision_every: int = 10, **arguments: Any) -> territorial.VecGame:
    """Return a batch with games at all points of their lives, as in a long run."""
    config = CONFIG.replace(decision_every=decision_every)
    game = territorial.VecGame(config, NUM_GAMES, seats=SEATS, **arguments)
    game.reset(seed=0)
    life = LIFE * CONFIG.decision_every // decision_every
    for step in range(life):
        if step % (life // NUM_GAMES) == 0:
            game.reset_game(step * NUM_GAMES // life, seed=step)
        game.step()
    return game


def rules_alone(digest: Any) -> float:
    """Return the microseconds of ten ticks of a recorded game, whose launches are there already."""
    with tempfile.TemporaryDirectory() as folder:
        game = territorial.VecGame(CONFIG, 1, seats=SEATS, observe=False, autoreset="disabled")
        with territorial.Recorder(game, folder) as recorder:
            game.reset(seeds=[0])
            while not game.step()[-1]["ended"][0]:
                pass
            replay = recorder.replay(0)
    costs = []
    for _ in range(CHUNKS):
        game.reset(seeds=[0])
        started = time.perf_counter()
        game.play(0, replay.launches, replay.num_ticks)
        costs.append((time.perf_counter() - started) * 1e7 / replay.num_ticks)
    digest.update(game.digest(0))
    return statistics.median(costs)


def one_game(steps: int) -> dict[str, float]:
    """Return the microseconds of what search and play do with a single game."""
    game = territorial.VecGame(CONFIG, 1, seats=SEATS, frames=4)
    game.reset(seeds=[0])
    for _ in range(100):
        game.step()
    saved = game.save(0)
    bare = territorial.VecGame(CONFIG, 1, seats=SEATS, observe=False)
    bare.reset(seeds=[0])
    for _ in range(100):
        bare.step()
    started = bare.save(0)
    return {
        "one game: save": median_of(lambda: game.save(0), steps),
        "one game: restore": median_of(lambda: game.restore(0, saved), steps),
        "one game: reset": median_of(lambda: bare.reset(seeds=[0]), steps),
        "one game: restore, step (search)": median_of(lambda: (bare.restore(0, started), bare.step()), steps),
        "one game: step at tick 1,000": step_again(game, saved, steps),
    }


def step_again(game: territorial.VecGame, saved: Any, steps: int) -> float:
    """Return the microseconds of the same step of one game, played again and again."""
    costs = []
    for _ in range(steps):
        game.restore(0, saved)
        started = time.perf_counter()
        game.step()
        costs.append((time.perf_counter() - started) * 1e6)
    return statistics.median(costs)


if __name__ == "__main__":
    sys.exit(main())
