#!/usr/bin/env python3
"""How the cost of a step goes with the number of games, the map, the players and the threads.

    python benchmarks/engine/scaling.py                     all curves, some minutes
    python benchmarks/engine/scaling.py --only map --quick  one of them, in seconds
    python benchmarks/engine/scaling.py --draw              draw what was measured before

Every point is a batch with games at all points of the first LIFE steps of their lives, stepped for a
second; the result is the median over chunks. On a map of another size or with other numbers of players games
go another way, so beside the time of a step stands what happens in it: cells that are taken. Every size has
machine code of its own (but with --quick), which the first run has to compile. The result goes
to benchmarks/results/scaling.json, the plot (which needs matplotlib) to docs/images/scaling.png.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import territorial
from benchmarks import harness
from territorial.evaluation.charts import check_matplotlib
from territorial.files.cores import usable_cores

RESULT = harness.RESULTS / "scaling.json"
PLOT = Path(__file__).resolve().parents[2] / "docs" / "images" / "scaling.png"
CONFIG = territorial.GameConfig()
LINE_UP = territorial.LINEUPS["mixed-1"].seats
LIFE = 480
CORES = usable_cores()
CURVES: dict[str, tuple[int, ...]] = {
    "games": (1, 4, 16, 64, 256, 1024, 4096),
    "map": (64, 128, 256, 512, 1024),
    "players": (2, 8, 32, 64, 128, 250),
    "threads": tuple(range(1, CORES + 1)),
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        choices=CURVES,
        action="append",
        help="case to measure; the others keep the result on file; repeat the option for more (default all)",
    )
    harness.add_quick(parser)
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing; draw the result that is on file"
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    result = on_file(parsed.json)
    if not parsed.draw:
        result["config_digest"] = CONFIG.hexdigest
        for curve in parsed.only or CURVES:
            result["curves"][curve] = measure(curve, quick=parsed.quick)
            result["revisions"][curve] = harness.revision()
            harness.write(parsed.json, result)
    if not parsed.quick:
        draw(result["curves"], PLOT)
    return 0


def on_file(path: Path) -> dict[str, Any]:
    """Return the curves of a file and the revision of each, as ``--only`` leaves the others as they are."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"curves": {}}
    revisions = found.get("revisions") or dict.fromkeys(found["curves"], found.get("revision"))
    return {"curves": found["curves"], "revisions": revisions}


def measure(curve: str, *, quick: bool) -> list[dict[str, float]]:
    """Return one row for every point and form of a curve."""
    rows = []
    for value in CURVES[curve]:
        if quick and curve == "games" and value > 64:
            continue
        for form, arguments in FORMS.items():
            harness.tell(f"{TITLES[curve]} {value}, {form}")
            rows.append({"value": value, "form": form} | point(curve, value, arguments, quick=quick))
    return rows


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
    game = territorial.VecGame(
        config, num_games, seats=seats, num_threads=num_threads, specialize=not quick, **arguments
    )
    spread_out(game, 48 if quick else LIFE)
    found = time_steps(game, 0.1 if quick else 1.0)
    found["bytes_per_game"] = game.bytes_per_game
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
    return {
        "step_us": round(statistics.median(costs), 3),
        "cells": round(statistics.fmean(cells), 1) if cells else None,
    }


def draw(curves: dict[str, Sequence[dict[str, Any]]], path: Path) -> None:
    """Draw all curves that there are into one picture."""
    pyplot = check_matplotlib()
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for axis, (curve, rows) in zip(axes.flat, curves.items(), strict=False):
        for form, marker in zip(FORMS, "os", strict=True):
            points = [row for row in rows if row["form"] == form]
            rate = [1e6 / row["step_us"] for row in points]
            axis.plot([row["value"] for row in points], rate, marker=marker, label=form)
        axis.set_xscale("log", base=2)
        axis.set_xticks([row["value"] for row in points], [f"{row['value']:,}" for row in points])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
        axis.set_xlabel(TITLES[curve])
        axis.set_ylabel("environment steps/s")
        axis.grid(alpha=0.3)
    axes.flat[0].legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    sys.exit(main())
