#!/usr/bin/env python3
"""What a player does in its games, by time: how often it launches, at whom and with how much.

    python benchmarks/bots/champion_ways.py champion             benchmarks/results/champion_ways.json
    python benchmarks/bots/champion_ways.py net:runs/pairs/network.safetensors --games 20 --json ways.json

Two of the 32 seats are its own, the others are of the line-up mixed-2, on maps of the examinations. Its
launches are read from a data set of its decisions, in which every row has what the seat saw.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import territorial
from benchmarks import harness
from benchmarks.bots.exam_games import EXAM_SEED, FULL, LINEUP, OWN, InEngine, add_options, lineup
from territorial.bots.bot_files import bot_of_file, is_bot_file
from territorial.constants import FRACTIONS, NUM_FRACTIONS
from territorial.datasets import Dataset, make
from territorial.observation.pair_columns import OWN as OWN_COLUMNS
from territorial.observation.pair_columns import PAIRS, column
from territorial.replay import Decisions
from territorial.typing import Bools, Floats, Ints

RESULT = harness.RESULTS / "champion_ways.json"
TIMES = (0, 100, 200, 500, 1000, 2000, 4000, 6000, 10_000)
"""Ticks at which parts of a game begin, and the last one ends."""
GRID = 10
"""Ticks from one row to the next: a seat makes one launch in them."""
UNIT = 4096
"""What 1 is in columns of the observation."""
TICKS = 100
"""LaunchRows are counted in so many."""


class LaunchRows(NamedTuple):
    """R rows of the seats of a player; what concerns the target is of its launches alone."""

    tick: Ints  # (R,)
    is_launch: Bools  # (R,)
    part: Floats  # (R,) of the troops at home, NaN where it holds or its target is not in the row
    at_neutral: Bools  # (R,)
    at_weaker: Bools  # (R,) players with fewer troops
    density: Floats  # (R,) troops a cell over the hard cap
    land: Floats  # (R,) share of all land


def main(argv: list[str] | None = None) -> int:
    """Play, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("player", help="whose games to look at: a name, net:FILE or style:FILE")
    add_options(parser, 200, "so many at full size")
    harness.add_json(parser, RESULT)
    harness.add_quick(parser)
    parsed = parser.parse_args(argv)
    player = bot_of_file("player", parsed.player) if is_bot_file(parsed.player) else parsed.player
    games = 10 if parsed.quick else parsed.games
    parts = list(parts_of(played(player, games, parsed.threads)))
    for part in parts:
        print(line_of(part))
    result = {"player": parsed.player, "rules_version": territorial.RULES_VERSION, "games": games}
    harness.write(parsed.json, result | {"parts": parts})
    return 0


def played(player: InEngine, games: int, processes: int) -> LaunchRows:
    """Return what a player did in so many games."""
    rng = np.random.default_rng(EXAM_SEED)
    opponents = list(lineup(LINEUP)(FULL.num_players - OWN, rng))
    order = rng.permutation(FULL.num_players)
    seats = [[*[player] * OWN, *opponents][i] for i in order]
    own = [int(np.flatnonzero(order == i)[0]) + 1 for i in range(OWN)]
    with tempfile.TemporaryDirectory() as folder:
        make(
            folder,
            FULL,
            seats,
            games=games,
            seed=EXAM_SEED,
            rows_of=own,
            every=GRID,
            processes=processes,
            on_shard=lambda manifest: harness.tell(f"{manifest.games} of {games} games"),
        )
        harness.tell("")
        return LaunchRows(*map(np.concatenate, zip(*map(launches_of, Dataset(folder)), strict=True)))


def launches_of(rows: Decisions) -> LaunchRows:
    """Return what the rows of a data set say of launches."""
    is_launch, is_shown = rows.action != 0, rows.action > 0
    target, fraction = np.divmod(np.maximum(rows.action - 1, 0), NUM_FRACTIONS)
    pair = rows.pairs[np.arange(len(target)), target]
    neutral = pair[:, column(PAIRS, "neutral")] > 0
    weaker = pair[:, column(PAIRS, "troops_ratio")] < 0
    parts = np.array(FRACTIONS) / 1024
    return LaunchRows(
        tick=np.asarray(rows.tick),
        is_launch=is_launch,
        part=np.where(is_shown, parts[fraction], np.nan),
        at_neutral=is_shown & neutral,
        at_weaker=is_shown & ~neutral & weaker,
        density=rows.own[:, column(OWN_COLUMNS, "density")] / UNIT,
        land=rows.own[:, column(OWN_COLUMNS, "land_share")] / UNIT,
    )


def parts_of(found: LaunchRows) -> Iterator[dict[str, Any]]:
    """Yield what the player did in each part of its games in which it lived."""
    for first, end in pairwise(TIMES):
        rows = (found.tick >= first) & (found.tick < end)
        if not rows.any():
            continue
        launched = rows & found.is_launch
        count = int(launched.sum())
        sent = found.part[launched & ~np.isnan(found.part)]
        at_players = launched & ~found.at_neutral
        yield {
            "first": first,
            "end": end,
            "launches": TICKS / GRID * count / int(rows.sum()),
            "part": float(np.median(sent)) if len(sent) else None,
            "at_neutral": float(found.at_neutral[launched].mean()) if count else None,
            "at_weaker": float(found.at_weaker[at_players].mean()) if at_players.any() else None,
            "density": float(found.density[rows].mean()),
            "land": float(found.land[rows].mean()),
        }


def line_of(part: dict[str, Any]) -> str:
    """Return a part in a line."""
    shares = [
        f"{what} {part[key]:.0%}"
        for what, key in (("median part", "part"), ("neutral", "at_neutral"), ("weaker", "at_weaker"))
        if part[key] is not None
    ]
    return (
        f"ticks {part['first']:,} to {part['end']:,}: {part['launches']:.2f} launches in {TICKS} ticks; "
        f"{', '.join([*shares, ''])}density {part['density']:.0%}, land {part['land']:.1%}"
    )


if __name__ == "__main__":
    sys.exit(main())
