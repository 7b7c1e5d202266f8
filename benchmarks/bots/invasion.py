#!/usr/bin/env python3
"""Who can invade whom: every bot on a quarter of the seats of a field of every other bot.

    python benchmarks/bots/invasion.py                     all bots, benchmarks/results/invasion.json
    python benchmarks/bots/invasion.py --bot-names settler,besieger,turtle --games 100 --json small.json
    python benchmarks/bots/invasion.py --check             what has changed since the result that is there
    python benchmarks/bots/invasion.py --draw      docs/images/invasion.png, of the result that is there

For each pair the report has the wins of the invader as multiples of its fair share. It has a quarter of the
seats, so that is 0 to 4, and 1 is as good as the others. The report also has its mean place, the land of its
largest seat at the end, and how often the time limit stops the game. A game that it stops is won by the
player with most land then. Games against turtles, most of which the limit stops, are played a second time to
the end.

Before a result is written it is compared with the one that is there. Cells have changed where games won
differ by Fisher's exact test, or mean places by the normal test of their intervals. Benjamini and Hochberg's
procedure bounds the share of false ones: of those that are printed one in twenty is by chance. Both results
have the same seeds, which makes the tests of unpaired games a little careful.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import territorial
from benchmarks import harness
from territorial import bots
from territorial.cli import options
from territorial.evaluation.charts import check_matplotlib
from territorial.evaluation.play import play_games
from territorial.evaluation.pool import Processes
from territorial.evaluation.record import GameRecord
from territorial.evaluation.schedule import Fixture
from territorial.evaluation.statistics import RecordArrays, Z

RESULT = harness.RESULTS / "invasion.json"
PICTURE = Path(__file__).parents[2] / "docs/images/invasion.png"
CONFIG = territorial.GameConfig(num_maps=16)
HARDEST, LONG = "turtle-1", CONFIG.replace(max_ticks=60_000)
"""The field that most styles cannot invade, and games that the time limit does not stop."""
SEATS, INVADERS = 32, 8
GAMES = 40
FIGURES = ("fair", "fair_low", "fair_high", "place", "place_low", "place_high", "largest", "stopped")
"""Those of a pair: wins and places with the ends of their intervals of 95 per cent."""
BY_CHANCE = 0.05
"""The part of the cells said to have changed that may have by chance."""


def main(argv: list[str] | None = None) -> int:
    """Play, print, write and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--bot-names",
        default=",".join(bots.NAMES),
        help="bots, by name and separated by commas (default %(default)s)",
    )
    parser.add_argument(
        "--games",
        type=options.whole(1, 10_000),
        default=GAMES,
        help="games to play; so many of each pair (default %(default)s)",
    )
    options.add_processes_option(parser)
    harness.add_json(parser, RESULT)
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit code 1 if the result differs from what is on file",
    )
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing; draw the result that is on file"
    )
    parsed = parser.parse_args(argv)
    if parsed.draw:
        draw_matrix(json.loads(parsed.json.read_text(encoding="utf-8")), PICTURE)
        return 0
    names = [bots.canonical(name) for name in parsed.bot_names.split(",")]
    pairs = [(invader, field) for invader in names for field in names if invader != field]
    records = play(CONFIG, pairs, parsed.games, parsed.processes)
    hardest = [(name, HARDEST) for name in names if name != HARDEST]
    to_the_end = play(LONG, hardest, parsed.games, parsed.processes)
    result = {
        "rules_version": territorial.RULES_VERSION,
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
    print_matrix(names, result["fair"])
    changed = []
    if parsed.json.exists():
        kept = json.loads(parsed.json.read_text(encoding="utf-8"))
        changed = changes(kept, result)
        print_changes(kept, result, changed)
    if parsed.check:
        return 1 if changed else 0
    harness.write(parsed.json, result)
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
    records = play_games(config, {}, fixtures(pairs, games), Processes(processes))
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
        name: [[None] * len(names) for _ in names] for name in FIGURES
    }
    for (invader, field), games in records.items():
        i, j = names.index(invader), names.index(field)
        for name, value in figures_of(games).items():
            figures[name][i][j] = value
    return figures


def figures_of(games: list[GameRecord]) -> dict[str, float]:
    """Return the figures of the games of one pair, FIGURES by name."""
    invader = next(line for line in RecordArrays(games).table() if line.player == games[0].seats[0])
    largest = np.mean([max(game.land[-1][:INVADERS]) / game.num_land for game in games])
    stopped = np.mean([game.is_stopped for game in games])
    found = (*invader.fair, *invader.place, largest, stopped)
    return {name: round(float(value), 4) for name, value in zip(FIGURES, found, strict=True)}


def print_matrix(names: list[str], fair: list[list[float | None]]) -> None:
    """Print the wins as multiples of the fair share, a row an invader."""
    shown = [bots.short(name) for name in names]
    print("\nwins over fair share; row: 8 invaders, column: 24 of the field\n")
    print(" " * 15 + "".join(f"{name[:5]:>6}" for name in shown))
    for name, row in zip(shown, fair, strict=True):
        print(f"{name:15}" + "".join("     -" if value is None else f"{value:6.2f}" for value in row))


# ---- compared with the result that is there -----------------------------------------------------------


class CellChange(NamedTuple):
    """What has changed in one cell, and how likely such a difference is between games of the same bots."""

    p: float
    cell: str
    figure: str
    before: float
    after: float


def changes(kept: dict[str, Any], new: dict[str, Any]) -> list[CellChange]:
    """Return what has changed by more than its statistical error in cells that both have, surest first."""
    before, after = cells(kept), cells(new)
    tested = []
    for cell in after:
        if cell in before:
            tested += tests_of(cell, before[cell], kept["games"], after[cell], new["games"])
    tested.sort()
    adjusted = stats.false_discovery_control([one.p for one in tested], method="bh")
    return [one for one, p in zip(tested, adjusted, strict=True) if p <= BY_CHANCE]


def cells(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the figures of every pair by its name; results of old have no intervals."""
    names = result["bots"]
    found = {
        f"{invader} among {field}": {figure: result[figure][i][j] for figure in FIGURES if figure in result}
        for i, invader in enumerate(names)
        for j, field in enumerate(names)
        if i != j
    }
    end = result["to_the_end"]
    return found | {
        f"{name} among {end['field']}, to the end": end["invaders"][name] for name in end["invaders"]
    }


def tests_of(
    cell: str, before: dict[str, float], games_before: int, after: dict[str, float], games: int
) -> list[CellChange]:
    """Return the tests of one cell: of wins, and of places where both results have intervals."""
    won = [
        round(figures["fair"] * INVADERS / SEATS * count)
        for figures, count in ((before, games_before), (after, games))
    ]
    found = [
        CellChange(fisher(won[0], games_before, won[1], games), cell, "fair", before["fair"], after["fair"])
    ]
    if "place_low" in before:
        error = math.hypot(*((one["place_high"] - one["place_low"]) / (2 * Z) for one in (before, after)))
        away = abs(after["place"] - before["place"])
        p = 2 * float(stats.norm.sf(away / error)) if error else float(away == 0)
        found.append(CellChange(p, cell, "place", before["place"], after["place"]))
    return found


@cache  # many cells have the same counts
def fisher(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the probability, by Fisher's exact test, that two counts of so many differ by so much."""
    table = [[first, of_first - first], [second, of_second - second]]
    return float(stats.fisher_exact(table).pvalue)


def print_changes(kept: dict[str, Any], new: dict[str, Any], changed: list[CellChange]) -> None:
    """Print what has changed, and if that may be because other games were played."""
    print(f"\ncompared with {kept['games']} games a pair of release {kept['versions']['territorial-env']}:")
    for name in ("rules_version", "config_digest"):
        if kept[name] != new[name]:
            print(f"  {name} was {kept[name]} and is {new[name]}: these are other games")
    if not changed:
        print("  no cell has changed by more than its statistical error")
    for one in changed:
        print(f"  {one.cell}: {one.figure} was {one.before:.2f} and is {one.after:.2f} (p = {one.p:.1g})")


# ---- the picture --------------------------------------------------------------------------------------


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
    figure, axes = plt.subplots(figsize=(10, 8.8), layout="constrained")
    shown = axes.imshow(fair, cmap="RdBu", vmin=0, vmax=2)
    axes.set_ylabel(f"invaders, on {INVADERS} seats")
    axes.set_xlabel(f"field, on {SEATS - INVADERS} seats")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    for row, column in np.argwhere(~np.isnan(fair)):
        value = fair[row, column]
        color = "white" if abs(value - 1) > 0.7 else "black"
        axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=8, color=color)
    figure.colorbar(shown, shrink=0.8, extend="max", label="games won by invaders, over their fair share")
    figure.savefig(path, dpi=80, metadata={"Description": fingerprint(result)})
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
