#!/usr/bin/env python3
"""Who can invade whom: every bot on a quarter of the seats of a field of every other bot.

    python benchmarks/invasion.py                     all bots, benchmarks/results/invasion.json
    python benchmarks/invasion.py --bots settler,besieger,opportunist,turtle --games 100

For each pair the report has the wins of the invader as multiples of its fair share (a quarter of the
seats: from 0 to 4, and 1 is as good as the field), its mean place, the land of its largest seat at the end,
and how often the time limit stops the game. A game that it stops is won by whoever has most land then.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import territorial
from territorial import bots
from territorial.cli import options
from territorial.cli.contest import usable_cores
from territorial.cli.machine import machine, versions
from territorial.league.contest import Fixture
from territorial.league.playing import play_on_all_cores
from territorial.league.record import GameRecord

RESULT = Path(__file__).parent / "results" / "invasion.json"
CONFIG = territorial.GameConfig(num_maps=16)
SEATS, INVADERS = 32, 8
GAMES = 40


def main(argv: list[str] | None = None) -> int:
    """Play, print, write and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bots", default=",".join(bots.NAMES), help="names, separated by commas")
    parser.add_argument(
        "--games", type=options.whole(1, 10_000), default=GAMES, help=f"a pair (default {GAMES})"
    )
    parser.add_argument("--processes", type=options.whole(1, 1024), default=usable_cores())
    parser.add_argument("--out", type=Path, default=RESULT, help=f"default {RESULT}")
    parsed = parser.parse_args(argv)
    names = [bots.canonical(name) for name in parsed.bots.split(",")]
    records = play(names, parsed.games, parsed.processes)
    result = {
        "versions": versions(),
        "rules_version": territorial.RULES_VERSION,
        "machine": machine(),
        "config_digest": CONFIG.hexdigest,
        "games": parsed.games,
        "bots": names,
        **matrices(names, records),
    }
    options.write_json(str(parsed.out), result)
    print_matrix(names, result["fair"])
    return 0


def fixtures(names: list[str], games: int) -> Iterator[Fixture]:
    """Yield all games; those of a pair have the seeds 0, 1, ... like those of every other pair."""
    for i, invader in enumerate(names):
        for j, field in enumerate(names):
            if i != j:
                seats = (invader,) * INVADERS + (field,) * (SEATS - INVADERS)
                for seed in range(games):
                    yield Fixture((i * len(names) + j) * games + seed, seed, seats)


def play(names: list[str], games: int, processes: int) -> dict[tuple[str, str], list[GameRecord]]:
    """Return the records of every pair."""
    total, started, shown = len(names) * (len(names) - 1) * games, time.perf_counter(), 0.0
    found: dict[tuple[str, str], list[GameRecord]] = {}
    records = play_on_all_cores(CONFIG, names, fixtures(names, games), processes)
    for count, record in enumerate(records, start=1):
        found.setdefault((record.seats[0], record.seats[-1]), []).append(record)
        seconds = time.perf_counter() - started
        if seconds - shown > 10 or count == total:
            shown = seconds
            print(f"{count:,} of {total:,} games, {count / seconds:.0f} a second", flush=True)
    return found


def matrices(names: list[str], records: dict[tuple[str, str], list[GameRecord]]) -> dict[str, Any]:
    """Return a matrix for every figure, [invader][field]; None where both are the same."""
    figures: dict[str, list[list[float | None]]] = {
        name: [[None] * len(names) for _ in names] for name in ("fair", "place", "largest", "stopped")
    }
    for (invader, field), games in records.items():
        i, j = names.index(invader), names.index(field)
        for name, value in figures_of(games).items():
            figures[name][i][j] = round(value, 4)
    return figures


def figures_of(games: list[GameRecord]) -> dict[str, float]:
    """Return the figures of the games of one pair."""
    places = np.array([game.places for game in games])
    best = places == places.min(axis=1, keepdims=True)
    wins = (best[:, :INVADERS].sum(axis=1) / best.sum(axis=1)).mean()
    largest = [max(game.land[-1][:INVADERS]) / game.num_land for game in games]
    return {
        "fair": float(wins * SEATS / INVADERS),
        "place": float(places[:, :INVADERS].mean()),
        "largest": float(np.mean(largest)),
        "stopped": float(np.mean([game.is_stopped for game in games])),
    }


def print_matrix(names: list[str], fair: list[list[float | None]]) -> None:
    """Print the wins as multiples of the fair share, a row an invader."""
    shown = [bots.short(name) for name in names]
    print("\nwins over fair share; row: 8 invaders, column: 24 of the field\n")
    print(" " * 15 + "".join(f"{name[:5]:>6}" for name in shown))
    for name, row in zip(shown, fair, strict=True):
        print(f"{name:15}" + "".join("     -" if value is None else f"{value:6.2f}" for value in row))


if __name__ == "__main__":
    sys.exit(main())
