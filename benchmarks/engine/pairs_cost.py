#!/usr/bin/env python3
"""What the form "pairs" costs a seat, in whole games of bots that are looked at between steps.

    python benchmarks/engine/pairs_cost.py                 full size, about a minute
    python benchmarks/engine/pairs_cost.py --size small    the same in seconds

Every step, the same games show all living seats, and then one seat of each game, which bears the cost of all
that is summed up once a game. Calls from Python are part of the times. The result, with the machine and the
versions, goes to benchmarks/results/pairs_cost.json. Exit code 1 if a seat of many takes more than LIMIT
microseconds at full size.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import goals, harness
from territorial.cli import options

NUM_GAMES = 16
FORMS: dict[str, dict[str, Any]] = {
    "all living seats, as whole numbers": {"dtype": "int16"},
    "all living seats": {"dtype": "float32"},
    "one seat a game, as whole numbers": {"dtype": "int16"},
    "one seat a game": {"dtype": "float32"},
}
"""What is asked for; the limit is for the second."""
LIMITED = "all living seats"
LIMIT = goals.bound("pairs_cost", f"forms/{LIMITED}/us_a_seat")
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}
RESULT = harness.RESULTS / "pairs_cost.json"

Seats = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    config = CONFIGS[parsed.size]
    seconds, shown, candidates = play(config, parsed.steps, parsed.seed)
    rows = {form: row_of(seconds[form], shown[form]) for form in FORMS}
    result = {
        "config_digest": config.hexdigest,
        "num_games": NUM_GAMES,
        "steps": parsed.steps,
        "limit_us": LIMIT,
        "living": round(statistics.fmean(shown[LIMITED]) / NUM_GAMES, 2),
        "candidates": round(candidates, 2),
        "forms": rows,
    }
    harness.write(parsed.json, result)
    print(f"{result['living']} living seats of {config.num_players}, {result['candidates']} candidates each")
    for form, row in rows.items():
        spread = f"({row['us_a_seat_lowest']:.2f} - {row['us_a_seat_highest']:.2f})"
        print(f"{form:36}{row['us_a_seat']:8.2f} us a seat {spread}")
    print(f"at most {LIMIT:g} are allowed for the second; written to {parsed.json}")
    return 0 if parsed.size != "full" or rows[LIMITED]["us_a_seat"] <= LIMIT else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, CONFIGS)
    parser.add_argument(
        "--steps",
        type=options.whole(10, 10**7),
        default=6000,
        help="environment steps to run; so many of each game (default %(default)s)",
    )
    options.add_seed_option(parser, "seed of the batch")
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def play(
    config: territorial.GameConfig, steps: int, seed: int
) -> tuple[dict[str, list[float]], dict[str, list[int]], float]:
    """Return the seconds of every call, how many seats it showed, and how many candidates they had."""
    lineup = territorial.LINEUPS["mixed-1"].seats
    seats = [lineup[i * len(lineup) // config.num_players] for i in range(config.num_players)]
    game = territorial.VecGame(config, NUM_GAMES, seed, seats=seats, observe=False)
    game.reset()
    seconds: dict[str, list[float]] = {form: [] for form in FORMS}
    shown: dict[str, list[int]] = {form: [] for form in FORMS}
    candidates, order = 0, list(FORMS)
    game.pairs([0], [1])
    for step in range(steps):
        game.step()
        form = order[step % len(order)]  # one a step, so that each finds the caches as the step left them
        games, chosen = living(game) if form.startswith("all") else one_a_game(game)
        started = time.perf_counter()
        seen = game.pairs(games, chosen, **FORMS[form])
        seconds[form].append(time.perf_counter() - started)
        shown[form].append(len(games))
        candidates += np.count_nonzero(seen.targets) if form == LIMITED else 0
        if step % max(1, steps // 20) == 0:
            harness.tell(f"{100 * step // steps:3d} %")
    return seconds, shown, candidates / sum(shown[LIMITED])


def living(game: territorial.VecGame) -> Seats:
    """Return games and seats, int64 (N,), of all living players."""
    games, seats = np.nonzero(game.state.alive[:, 1:])
    return games, seats + 1


def one_a_game(game: territorial.VecGame) -> Seats:
    """Return the largest player of every game."""
    return np.arange(NUM_GAMES), game.state.land[:, 1:].argmax(axis=1) + 1


def row_of(seconds: list[float], shown: list[int]) -> dict[str, float]:
    """Return the microseconds a seat: the median over tenths of the run, and their spread."""
    tenths = [1e6 * sum(seconds[i::10]) / sum(shown[i::10]) for i in range(min(10, len(shown)))]
    return {
        "us_a_seat": round(statistics.median(tenths), 3),
        "us_a_seat_lowest": round(min(tenths), 3),
        "us_a_seat_highest": round(max(tenths), 3),
    }


if __name__ == "__main__":
    sys.exit(main())
