#!/usr/bin/env python3
"""Plays the games of a line-up from its seeds and says what they look like.

    python benchmarks/bots/mixed_shape.py                  64 games of mixed-1, in seconds
    python benchmarks/bots/mixed_shape.py --games 8        the first 8 of them

The result, with the machine and the versions, goes to benchmarks/results/mixed_shape.json;
benchmarks/tables makes a table of it in docs/rules.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import harness
from territorial.cli import options

NAME = "mixed-1"
LINEUP = territorial.LINEUPS[NAME]
CONFIG = territorial.GameConfig()
MOMENTS = (1_000, 2_000, 4_000)
"""Ticks at which living players are counted; a game that is over counts as it ended."""
NEUTRAL_LEFT = 0.01
RESULT = harness.RESULTS / "mixed_shape.json"


@dataclass
class Games:
    """What was seen of E games; all arrays but ``alive`` and ``places`` are int64 (E,)."""

    filled: npt.NDArray[np.int64]
    """Tick of the first decision at which less than NEUTRAL_LEFT of the land was neutral."""
    alive: dict[int, npt.NDArray[np.int64]]
    """Players alive at each of MOMENTS."""
    lengths: npt.NDArray[np.int64]
    places: npt.NDArray[np.float64]
    """(E, P); seats that are equal share the mean of their places."""


def main(argv: list[str] | None = None) -> int:
    """Play, write and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--games",
        type=options.whole(1, len(LINEUP.seeds)),
        default=len(LINEUP.seeds),
        help="games to play; the first of the recorded ones (default %(default)s)",
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    started = time.perf_counter()
    result = report(play(LINEUP.seeds[: parsed.games]), LINEUP.seeds[: parsed.games])
    harness.write(parsed.json, result)
    print(f"{parsed.games} games in {time.perf_counter() - started:.0f} s; written to {parsed.json}")
    return 0


def play(seeds: tuple[int, ...]) -> Games:
    """Play the games side by side to their ends."""
    game = territorial.VecGame(CONFIG, len(seeds), seats=LINEUP.seats, autoreset="disabled", observe=False)
    game.reset(seeds=list(seeds))
    state = game.state
    filled, alive, steps = np.full(len(seeds), -1, np.int64), {}, 0
    while not state.over.all():
        game.step()
        steps += 1
        tick = steps * CONFIG.decision_every
        is_filled = state.land[:, 0] < NEUTRAL_LEFT * state.num_land
        filled[is_filled & (filled < 0)] = tick
        if tick in MOMENTS:
            alive[tick] = state.alive.sum(axis=1)
        if tick % 1000 < CONFIG.decision_every:
            print(f"tick {tick:6,}  {int(state.over.sum()):3} of {len(seeds)} games over", flush=True)
    for tick in MOMENTS:
        alive.setdefault(tick, state.alive.sum(axis=1))
    return Games(filled, alive, state.tick.copy(), state.place2[:, 1:] / 2)


def report(games: Games, seeds: tuple[int, ...]) -> dict[str, Any]:
    """Return the result as JSON would have it."""
    filled = games.filled[games.filled >= 0]
    return {
        "rules_version": territorial.RULES_VERSION,
        "config_digest": CONFIG.hexdigest,
        "line_up": NAME,
        "games": len(seeds),
        "first_seed": min(seeds),
        "last_seed": max(seeds),
        "neutral_left": NEUTRAL_LEFT,
        "neutral_gone_tick": float(np.median(filled)) if len(filled) else None,
        "alive": {str(tick): spread(games.alive[tick]) for tick in MOMENTS},
        "length": quartiles(games.lengths),
        "stopped_by_time_share": float((games.lengths == CONFIG.max_ticks).mean()),
        "bots": {bot: standing(games.places, bot) for bot in dict.fromkeys(LINEUP.seats)},
    }


def spread(values: npt.NDArray[np.int64]) -> dict[str, float]:
    return {"min": int(values.min()), "median": float(np.median(values)), "max": int(values.max())}


def quartiles(values: npt.NDArray[np.int64]) -> dict[str, float]:
    low, middle, high = np.percentile(values, (25, 50, 75))
    ends = {"min": int(values.min()), "max": int(values.max())}
    return {**ends, "quartile_1": float(low), "median": float(middle), "quartile_3": float(high)}


def standing(places: npt.NDArray[np.float64], bot: str) -> dict[str, float]:
    """Return how all seats of a bot did; seats that win together share the game."""
    mine = np.array(LINEUP.seats) == bot
    best = places == places.min(axis=1, keepdims=True)
    return {
        "seats": int(mine.sum()),
        "mean_place": float(places[:, mine].mean()),
        "win_share": float((best[:, mine].sum(axis=1) / best.sum(axis=1)).mean()),
    }


if __name__ == "__main__":
    sys.exit(main())
