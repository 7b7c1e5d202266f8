#!/usr/bin/env python3
"""Is the game fair, and do games end: places by seat and by corner, and the shape of games by field.

    python benchmarks/bots/bot_health.py                   benchmarks/results/bot_health.json

Fairness: games of 32 bots of one kind. If no seat number is favoured, places by seat are random: Friedman's
test says how likely such differences are then. If no corner of an open square map is favoured, a quarter of
the map wins as often as it has seats. That is tested by chi-square tests of wins and of the best eight, by
the quarter that a seat starts in.

Health: for every bot alone, and for the line-ups, the report says when free land is gone. It says how many
players live at ticks 1,000, 2,000 and 4,000, how long games are, how many are stopped by the time limit, and
how long they would be without one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

import territorial
from benchmarks import harness
from territorial import bots
from territorial.cli import options
from territorial.engine.seats import LINEUPS
from territorial.evaluation.play import play_games
from territorial.evaluation.pool import Processes
from territorial.evaluation.schedule import Fixture
from territorial.evaluation.statistics import RecordArrays

RESULT = harness.RESULTS / "bot_health.json"
OPEN = territorial.GameConfig(map="open")
MIXED = territorial.GameConfig(num_maps=16)
LONG = MIXED.replace(max_ticks=60_000)
FAIR_BOTS = ("metronome-1", "hard-1")
SEATS, BEST = 32, 8
PORTION = 32
"""Games that are looked at side by side for their spawns."""


def main(argv: list[str] | None = None) -> int:
    """Play, print, write and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whole = options.whole(1, 1_000_000)
    parser.add_argument(
        "--fair-games",
        type=whole,
        default=4000,
        help="games of each kind in the fairness test (default %(default)s)",
    )
    parser.add_argument(
        "--games", type=whole, default=200, help="games to play; so many of each field (default %(default)s)"
    )
    options.add_processes_option(parser)
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    fairness = {}
    for name in FAIR_BOTS:
        fairness[name] = found = fair_play(name, parsed.fair_games, parsed.processes)
        tests = ("seats", "quarters_wins", "quarters_best")
        shown = ", ".join(f"{test} p = {found[test]['p']:.3f}" for test in tests)
        print(f"{name:18} {parsed.fair_games:,} games: {shown}", flush=True)
    health = shapes(MIXED, parsed.games, parsed.processes)
    print(f"and with a time limit of {LONG.max_ticks:,} ticks", flush=True)
    to_the_end = shapes(LONG, parsed.games, parsed.processes)
    result = {
        "rules_version": territorial.RULES_VERSION,
        "fair_games": parsed.fair_games,
        "fairness": fairness,
        "games": parsed.games,
        "max_ticks": MIXED.max_ticks,
        "health": health,
        "longest": LONG.max_ticks,
        "to_the_end": {
            name: {key: shape[key] for key in ("length", "stopped_by_time")}
            for name, shape in to_the_end.items()
        },
    }
    harness.write(parsed.json, result)
    return 0


# ---- fairness --------------------------------------------------------------------------------------


def fair_play(name: str, games: int, processes: int) -> dict[str, Any]:
    """Return the tests of games of 32 bots of one kind."""
    seats = (name,) * SEATS
    fixtures = (Fixture(seed, seed, seats) for seed in range(games))
    records = sorted(play_games(OPEN, {}, fixtures, Processes(processes)), key=lambda record: record.game)
    places = np.array([record.places for record in records])
    quarters = quarters_of(seats, games)
    return {
        "seats": friedman(places),
        "mean_places": places.mean(axis=0).round(3).tolist(),
        "quarters_wins": by_quarter(places.argsort(axis=1, kind="stable")[:, :1], quarters),
        "quarters_best": by_quarter(places.argsort(axis=1, kind="stable")[:, :BEST], quarters),
    }


def friedman(places: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return Friedman's test that the columns of ``places`` (games, seats) are alike."""
    found = stats.friedmanchisquare(*places.T)
    return {"statistic": float(found.statistic), "freedom": places.shape[1] - 1, "p": float(found.pvalue)}


def quarters_of(seats: Sequence[str], games: int) -> npt.NDArray[np.int64]:
    """Return (games, seats), the quarter of the map, 0 to 3, in which each seat starts."""
    found = []
    middle = (OPEN.height / 2, OPEN.width / 2)
    for first in range(0, games, PORTION):
        seeds = list(range(first, min(first + PORTION, games)))
        game = territorial.VecGame(OPEN, len(seeds), seats=seats, observe=False)
        game.reset(seeds=seeds)
        for owner in game.state.owner[:, 1:-1, 1:-1]:
            rows, columns = np.nonzero((owner > 0) & (owner <= SEATS))
            who = owner[rows, columns].astype(np.int64) - 1
            size = np.bincount(who, minlength=SEATS)
            centres = [np.bincount(who, place + 0.5, SEATS) / size for place in (rows, columns)]
            found.append(2 * (centres[0] >= middle[0]) + (centres[1] >= middle[1]))
    return np.array(found)


def by_quarter(best: npt.NDArray[np.int64], quarters: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return the chi-square test that the seats ``best`` (games, n) start in all quarters alike.

    Expected are as many as the quarter has seats. Seats of one game exclude each other, which makes the
    test of more than one a game a little careful.
    """
    chosen = np.take_along_axis(quarters, best, axis=1)
    observed = np.bincount(chosen.ravel(), minlength=4)
    expected = np.bincount(quarters.ravel(), minlength=4) * best.shape[1] / SEATS
    found = stats.chisquare(observed, expected)
    return {
        "observed": observed.tolist(),
        "expected": expected.round(1).tolist(),
        "statistic": float(found.statistic),
        "freedom": 3,
        "p": float(found.pvalue),
    }


# ---- health ----------------------------------------------------------------------------------------


def shapes(config: territorial.GameConfig, games: int, processes: int) -> dict[str, Any]:
    """Return the shape of the games of every field."""
    fields = {name: (name,) * SEATS for name in bots.NAMES}
    fields |= {
        name: lineup.seats
        for name, lineup in LINEUPS.items()
        if lineup.teams is None and len(lineup.seats) == SEATS
    }

    def fixtures() -> Iterator[Fixture]:
        for number, seats in enumerate(fields.values()):
            for seed in range(games):
                yield Fixture(number * games + seed, seed, seats)

    records = list(play_games(config, {}, fixtures(), Processes(processes)))
    found = {}
    for number, name in enumerate(fields):
        mine = [record for record in records if record.game // games == number]
        found[name] = shape = RecordArrays(mine).shape()
        alive = {int(tick): value["median"] for tick, value in shape["alive"].items()}
        gone = "never" if shape["neutral_gone"] is None else f"{shape['neutral_gone']['median']:.0f}"
        print(
            f"{name:18} land gone {gone:>6}, alive {alive}, length {shape['length']['median']:.0f}, "
            f"stopped {shape['stopped_by_time']:.2f}",
            flush=True,
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
