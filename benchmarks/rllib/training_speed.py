#!/usr/bin/env python3
"""Times the sampling of leagues, beside RLlib's own runner.

    python benchmarks/rllib/training_speed.py                        all networks, ten minutes
    python benchmarks/rllib/training_speed.py --only features pairs  these alone
    python benchmarks/rllib/training_speed.py --size small --rounds 1   whether it runs

16 games in one process, on one thread: 8 seats learn, bots have 12, and 12 are frozen, of 32 snapshots. A
step has 10 ticks, and all seats that learn or are frozen decide in each. All runners reset the same games to
the same seeds, play them to tick 500 by random actions, which is not timed, and are timed in the same steps
from there on: nearly all seats live, and fight. RLlib's own runner plays these steps a few in a round; the
batched one plays all of them in each round. They take turns, so that a busy machine slows both. Medians of
rounds count, by the processor's time.

"Stock" is what RLlib does by itself: its own runner, in which every snapshot is a module, called in every
step for its rows. Pairs are compared with stock on features. The exit code is 1 if, at full size, a network
is fewer times as fast than BARS ask.
"""

import dataclasses
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks import harness
from benchmarks.rllib.league_seats import Seats, configured, make_runner, seat_modules
from rllib_adapters.networks import NETWORKS
from territorial import GameConfig
from territorial.cli import options

GAMES = 16
FIRST_STEP = 50
"""Steps that are played before what is timed."""
SIZES = {
    "full": (GameConfig(), Seats()),
    "small": (
        GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
        Seats(learning=2, bots=3, frozen=3, snapshots=4),
    ),
}
STEPS = {"features": 8, "pairs": 8, "boards": 1}
"""By network: the steps of a game that RLlib's own runner plays in a round."""
BARS = {"pairs": 20, "features": 10}
"""By network: how many times as fast as stock it has to be."""


class LeagueRow(NamedTuple):
    """A league whose sampling is timed."""

    name: str
    network: str
    seats: Seats
    is_stock: bool = False


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_size(parser, SIZES)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=STEPS,
        metavar="NETWORK",
        default=list(STEPS),
        help=f"case to measure; {', '.join(STEPS)} (default all)",
    )
    parser.add_argument(
        "--rounds",
        type=options.whole(1, 1000),
        default=5,
        help="times that each case is measured (default %(default)s)",
    )
    parsed = parser.parse_args(argv)
    torch.set_num_threads(1)
    game, seats = SIZES[parsed.size]
    found: dict[str, float] = {}
    blocks = [[name for name in ("features", "pairs") if name in parsed.only]]
    blocks += [[name] for name in parsed.only if name not in blocks[0]]
    for block in filter(None, blocks):
        rows = [row for name in block for row in rows_of(name, seats)]
        if block == ["pairs"]:
            rows.append(stock("features", seats))
        speeds = take_turns(rows, game, parsed.rounds)
        found |= {name: statistics.median(of_rounds) for name, of_rounds in speeds.items()}
    times = {
        name: found[name] / found[f"{'features' if name == 'pairs' else name}, stock"]
        for name in parsed.only
        if name in BARS
    }
    for name, speed in found.items():
        beside = f"{times[name]:8.1f} times stock (at least {BARS[name]})" if name in times else ""
        print(f"{name:28}{speed:10,.0f} steps a second of processor{1e6 / speed:10,.1f} us a step{beside}")
    harness.write(parsed.json, {"size": parsed.size, "steps_per_second": found, "times_stock": times})
    return int(parsed.size == "full" and any(times[name] < BARS[name] for name in times))


def rows_of(network: str, seats: Seats) -> Iterator[LeagueRow]:
    """Yield the rows of a network."""
    yield LeagueRow(network, network, seats)
    for snapshots in (0, 300) if network in ("pairs", "features") else (0,):
        other = dataclasses.replace(seats, snapshots=snapshots)
        yield LeagueRow(f"{network}, {snapshots} snapshots", network, other)
    if network in BARS and network != "pairs":
        yield stock(network, seats)


def stock(network: str, seats: Seats) -> LeagueRow:
    """Return the row of what RLlib does by itself."""
    return LeagueRow(f"{network}, stock", network, seats, is_stock=True)


def take_turns(rows: list[LeagueRow], game: GameConfig, rounds: int) -> dict[str, list[float]]:
    """Return the steps a second of rows, by name, which are timed one after the other in every round."""
    found: dict[str, list[float]] = {row.name: [] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        runners = {}
        for row in rows:
            harness.progress(f"{row.name}: snapshots and a runner")
            runners[row.name] = runner_of(row, game, rounds, Path(folder))
            runners[row.name].sample(num_timesteps=GAMES)  # what is compiled, and opened
        for number in range(rounds + 1):  # the first round warms up
            for row in rows:
                harness.progress(f"round {number} of {rounds}: {row.name}")
                speed = speed_of(runners[row.name], begin=number < 2 or not row.is_stock)
                found[row.name] += [speed] * (number > 0)
    harness.progress("")
    return found


def runner_of(row: LeagueRow, game: GameConfig, rounds: int, folder: Path) -> Any:
    """Return what plays a row, with its snapshots in a store within ``folder``."""
    network = NETWORKS[row.network]
    config = configured(network, row.seats, game, folder, "stock" if row.is_stock else "batched")
    runner = make_runner(config, GAMES, STEPS[row.network] * (1 if row.is_stock else rounds))
    if row.is_stock:
        seat_modules(runner, network, row.seats, folder)
    return runner


def speed_of(runner: Any, *, begin: bool) -> float:
    """Return the steps a second of a sample; ``begin``: of new games, at the step that is timed first."""
    if begin:
        runner._needs_initial_reset = True
        runner.sample(num_timesteps=GAMES * FIRST_STEP, random_actions=True, force_reset=True)
    steps, began = GAMES * runner.config.get_rollout_fragment_length(0), time.process_time()
    runner.sample(num_timesteps=steps)
    return float(steps / (time.process_time() - began))


if __name__ == "__main__":
    sys.exit(main())
