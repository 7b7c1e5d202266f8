#!/usr/bin/env python3
"""Who can invade whom: every bot on a quarter of the seats of a field of every other bot.

    python benchmarks/invasion.py                     all bots, benchmarks/results/invasion.json
    python benchmarks/invasion.py --bots settler,besieger,opportunist,turtle --games 100 --out small.json
    python benchmarks/invasion.py --draw              docs/images/invasion.png, of the result that is there

For each pair the report has the wins of the invader as multiples of its fair share (a quarter of the
seats: from 0 to 4, and 1 is as good as the field), its mean place, the land of its largest seat at the end,
and how often the time limit stops the game. A game that it stops is won by whoever has most land then.
Games in a field of turtles, most of which the limit stops, are played a second time to the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import territorial
from territorial import bots
from territorial.cli import options
from territorial.cli.contest import usable_cores
from territorial.cli.machine import machine, versions
from territorial.league.charts import check_matplotlib
from territorial.league.contest import Fixture
from territorial.league.playing import play_on_all_cores
from territorial.league.record import GameRecord

RESULT = Path(__file__).parent / "results" / "invasion.json"
PICTURE = Path(__file__).parents[1] / "docs/images/invasion.png"
CONFIG = territorial.GameConfig(num_maps=16)
HARDEST, LONG = "turtle-1", CONFIG.replace(max_ticks=60_000)
"""The field that most styles cannot invade, and games that the time limit does not stop."""
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
    parser.add_argument("--draw", action="store_true", help=f"play nothing, draw {PICTURE}")
    parsed = parser.parse_args(argv)
    if parsed.draw:
        draw_matrix(json.loads(parsed.out.read_text(encoding="utf-8")), PICTURE)
        return 0
    names = [bots.canonical(name) for name in parsed.bots.split(",")]
    pairs = [(invader, field) for invader in names for field in names if invader != field]
    records = play(CONFIG, pairs, parsed.games, parsed.processes)
    hardest = [(name, HARDEST) for name in names if name != HARDEST]
    to_the_end = play(LONG, hardest, parsed.games, parsed.processes)
    result = {
        "versions": versions(),
        "rules_version": territorial.RULES_VERSION,
        "machine": machine(),
        "config_digest": CONFIG.hexdigest,
        "games": parsed.games,
        "bots": names,
        **matrices(names, records),
        "to_the_end": {
            "field": HARDEST,
            "max_ticks": LONG.max_ticks,
            "invaders": {invader: figures_of(found) for (invader, _), found in to_the_end.items()},
        },
    }
    options.write_json(str(parsed.out), result)
    print_matrix(names, result["fair"])
    return 0


def fixtures(pairs: list[tuple[str, str]], games: int) -> Iterator[Fixture]:
    """Yield all games; those of a pair have the seeds 0, 1, ... like those of every other pair."""
    for number, (invader, field) in enumerate(pairs):
        seats = (invader,) * INVADERS + (field,) * (SEATS - INVADERS)
        for seed in range(games):
            yield Fixture(number * games + seed, seed, seats)


def play(
    config: territorial.GameConfig, pairs: list[tuple[str, str]], games: int, processes: int
) -> dict[tuple[str, str], list[GameRecord]]:
    """Return the records of every pair of an invader and a field."""
    total, started, shown = len(pairs) * games, time.perf_counter(), 0.0
    found: dict[tuple[str, str], list[GameRecord]] = {pair: [] for pair in pairs}
    players = sorted({name for pair in pairs for name in pair})
    records = play_on_all_cores(config, players, fixtures(pairs, games), processes)
    for count, record in enumerate(records, start=1):
        last = replace(record, ticks=record.ticks[-1:], land=record.land[-1:])  # the rest takes half a GB
        found[record.seats[0], record.seats[-1]].append(last)
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
            figures[name][i][j] = value
    return figures


def figures_of(games: list[GameRecord]) -> dict[str, float]:
    """Return the figures of the games of one pair."""
    places = np.array([game.places for game in games])
    best = places == places.min(axis=1, keepdims=True)
    wins = (best[:, :INVADERS].sum(axis=1) / best.sum(axis=1)).mean()
    largest = [max(game.land[-1][:INVADERS]) / game.num_land for game in games]
    found = {
        "fair": wins * SEATS / INVADERS,
        "place": places[:, :INVADERS].mean(),
        "largest": np.mean(largest),
        "stopped": np.mean([game.is_stopped for game in games]),
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def print_matrix(names: list[str], fair: list[list[float | None]]) -> None:
    """Print the wins as multiples of the fair share, a row an invader."""
    shown = [bots.short(name) for name in names]
    print("\nwins over fair share; row: 8 invaders, column: 24 of the field\n")
    print(" " * 15 + "".join(f"{name[:5]:>6}" for name in shown))
    for name, row in zip(shown, fair, strict=True):
        print(f"{name:15}" + "".join("     -" if value is None else f"{value:6.2f}" for value in row))


def fingerprint(result: dict[str, Any]) -> str:
    """Return what the picture of a result carries, to be known by."""
    shown = json.dumps([result["bots"], result["fair"]])
    return hashlib.blake2b(shown.encode(), digest_size=16).hexdigest()


def strongest_first(result: dict[str, Any]) -> list[int]:
    """Return the order of the bots in the picture: by how well they invade, on the whole."""
    wins = [sum(value for value in row if value is not None) for row in result["fair"]]
    return sorted(range(len(wins)), key=lambda i: -wins[i])


def draw_matrix(result: dict[str, Any], path: Path) -> None:
    """Draw the wins as multiples of the fair share, invaders in rows and fields in columns."""
    plt = check_matplotlib()
    order = strongest_first(result)
    names = [bots.short(result["bots"][i]) for i in order]
    fair = np.array(result["fair"], float)[np.ix_(order, order)]
    figure, axes = plt.subplots(figsize=(11, 9.6), layout="constrained")
    shown = axes.imshow(fair, cmap="RdBu", vmin=0, vmax=2)
    axes.set_title("games won by 8 invaders (row) in a field of 24 (column), over their fair share")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    for row, column in np.argwhere(~np.isnan(fair)):
        value = fair[row, column]
        color = "white" if abs(value - 1) > 0.7 else "black"
        axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=8, color=color)
    figure.colorbar(shown, shrink=0.8, extend="max")
    figure.savefig(path, dpi=80, metadata={"Description": fingerprint(result)})
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
