#!/usr/bin/env python3
"""Times a step by games, map size, players and threads.

    python benchmarks/engine/scaling.py                     all curves, some minutes
    python benchmarks/engine/scaling.py --only map --quick  one of them, in seconds

Every point is a batch with games at all points of the first LIFE steps of their lives, stepped for a
second; the result is the median over chunks. On a map of another size or with other numbers of players games
go another way, so beside the time of a step stands how many cells are taken in it.
"""

import statistics
import sys
import time
from typing import Any

import territorial
from benchmarks import harness
from territorial.files.cores import usable_cores

CONFIG = territorial.GameConfig()
LINE_UP = territorial.LINEUPS["mixed-1"].seats
LIFE = 480
CURVES: dict[str, tuple[int, ...]] = {
    "games": (1, 4, 16, 64, 256, 1024, 4096),
    "map": (64, 128, 256, 512, 1024),
    "players": (2, 8, 32, 64, 128, 250),
    "threads": tuple(range(1, usable_cores() + 1)),
}
TITLES = {
    "games": "games in the batch",
    "map": "side of the map, cells",
    "players": "players",
    "threads": "threads, 256 games",
}
FORMS: dict[str, dict[str, Any]] = {
    "rules and bots": {"observe": False},
    "everything observed": {"frames": 4},
}


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "--only",
        choices=CURVES,
        action="append",
        help="case to measure; repeat the option for more (default all)",
    )
    harness.add_quick(parser)
    parsed = parser.parse_args(argv)
    result: dict[str, list[dict[str, Any]]] = {}
    for curve in parsed.only or CURVES:
        result[curve] = []
        for value in CURVES[curve]:
            if parsed.quick and curve == "games" and value > 64:
                continue
            for form, arguments in FORMS.items():
                found = point(curve, value, arguments, quick=parsed.quick)
                result[curve].append({"value": value, "form": form, **found})
                print(
                    f"{TITLES[curve]:24}{value:6,}  {form:20}{found['step_us']:10.2f} us a step"
                    f"{found['cells']:8.1f} cells{found['bytes_per_game'] / 1e6:8.2f} MB a game",
                    flush=True,
                )
    harness.write(parsed.json, {"curves": result})
    return 0


def point(curve: str, value: int, arguments: dict[str, Any], *, quick: bool) -> dict[str, Any]:
    """Return what a step of one game costs there, and how many cells change hands in it."""
    config, num_games, num_threads = CONFIG, 16, 1
    if curve == "games":
        num_games = value
    elif curve == "map":
        config = CONFIG.replace(height=value, width=value)
    elif curve == "players":
        config = CONFIG.replace(num_players=value)
    else:
        num_games, num_threads = 256, value
    seats = [
        LINE_UP[i * len(LINE_UP) // config.num_players % len(LINE_UP)] for i in range(config.num_players)
    ]
    game = territorial.VecGame(config, num_games, seats=seats, num_threads=num_threads, **arguments)
    spread_out(game, 48 if quick else LIFE)
    found = time_steps(game, 0.1 if quick else 1.0) | {"bytes_per_game": game.bytes_per_game}
    game.close()
    return found


def spread_out(game: territorial.VecGame, life: int) -> None:
    """Bring the games to all points of the first ``life`` steps of their lives."""
    game.reset(seed=0)
    begun = 0
    for step in range(life):
        while begun < game.num_games and begun * life <= step * game.num_games:
            game.reset_game(begun, seed=begun)
            begun += 1
        game.step()


def time_steps(game: territorial.VecGame, seconds: float) -> dict[str, Any]:
    """Step for some ``seconds`` and return microseconds and changed cells per step of one game."""
    chunk, costs, cells, started = max(1, LIFE // game.num_games), [], [], time.perf_counter()
    while len(costs) < 5 or time.perf_counter() - started < seconds:
        taken, before, resets = int(game.state.taken.sum()), time.perf_counter(), 0
        for _ in range(chunk):
            resets += int(game.step()[-1]["was_reset"].any())
        costs.append((time.perf_counter() - before) * 1e6 / (chunk * game.num_games))
        if resets == 0:
            cells.append((int(game.state.taken.sum()) - taken) / (chunk * game.num_games))
    return {"step_us": statistics.median(costs), "cells": statistics.fmean(cells or [float("nan")])}


if __name__ == "__main__":
    sys.exit(main())
