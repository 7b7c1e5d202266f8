#!/usr/bin/env python3
"""Times leagues as they are trained: their sampling beside RLlib's own runner, and the parts of an iteration.

    python benchmarks/rllib/training_speed.py                        all of it, ten minutes
    python benchmarks/rllib/training_speed.py --only features pairs  sampling with these networks alone
    python benchmarks/rllib/training_speed.py --only split --before FILE
    python benchmarks/rllib/training_speed.py --size small --rounds 1   whether it runs

Sampling is that of 16 games in one process, on one thread: 8 seats learn, bots have 12, and 12 are frozen,
of 32 snapshots. A step has 10 ticks, and all seats that learn or are frozen decide in each; in rows that
say so a step has 50. All runners reset the same games to the same seeds, play them to tick 500 by random
actions, which is not timed, and are timed in the same steps from there on: nearly all seats live, and
fight. RLlib's own runner plays these steps a few in a round; the batched one plays all of them in each
round. They take turns, so that a busy machine slows both. Medians of rounds count, by the processor's time.

"Stock" is what RLlib does by itself: its own runner, in which every snapshot is a module, called in every
step for its rows. "Stock with the pool" is RLlib's own runner with the ``FrozenPool`` of this library.

Beside each row stands what the multiplications of its networks take at least. They are counted from the
shapes of matrices, and divided by the speed of float32 products of these sizes, timed in the same run.

Iterations are those of the presets of `territorial train`, whose games one process plays and learns from.
Wrapped functions say where its processor time goes (processor_time.py). A first iteration is not counted.

The result, with the machine and the versions, goes to benchmarks/results/training_speed.json. The exit code
is 1 if a figure of the full size misses its bar.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks import harness
from benchmarks.rllib import iteration_split, multiplications
from benchmarks.rllib.league_seats import HAS_TOGETHER, NETWORKS, Seats, configured, make_runner, seat_modules
from rllib_adapters import ray_private
from territorial import GameConfig
from territorial.cli import options

RESULT = harness.RESULTS / "training_speed.json"
GAMES = 16
FIRST_STEP = 50
"""Steps that are played before what is timed."""
ROUNDS = 5
BASE = "features, stock"
"""The row of what RLlib does by itself that pairs are compared with."""
WITH_POOL = " with the pool"
"""What such a row is called besides if its frozen seats act through the pool."""
SIZES = {
    "full": (GameConfig(), Seats()),
    "small": (
        GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
        Seats(learning=2, bots=3, frozen=3, snapshots=4),
    ),
}


@dataclass(frozen=True)
class LeagueRow:
    """A league whose sampling is timed."""

    name: str
    network: str
    seats: Seats
    runner: str = "batched"
    """Who plays: "batched"; "stock", RLlib's own runner with the pool; or "modules", which is RLlib's own
    runner with a module for each snapshot."""
    ticks: int = 10
    beside: str = ""
    """The row of what RLlib does by itself that it is compared with; there may be one ``WITH_POOL``, too."""


@dataclass
class Speeds:
    """What was found of a row."""

    row: LeagueRow
    steps_per_second: list[float] = field(default_factory=list)
    """Environment steps a second of processor time, by round."""
    learning: list[float] = field(default_factory=list)
    """Seats that learned in a step, by round."""

    @property
    def median(self) -> float:
        """The median speed."""
        return statistics.median(self.steps_per_second)


STEPS = {"features": 8, "pairs": 8, "tables": 4, "encode-once": 2, "reference": 1}
"""By network: the steps of a game that RLlib's own runner plays in a round."""
BARS: dict[str, dict[str, Mapping[str, float]]] = {
    "pairs": {
        "env_steps_per_process_second": {"at_least": 4400},
        "times_stock": {"at_least": 25},
        "us_of_frozen_seats": {"at_most": 40},
    },
    "pairs, 300 snapshots": {"share_of_usual": {"at_least": 0.9}},
    "features": {"times_stock": {"at_least": 10}},
    "tables": {"times_stock": {"at_least": 4}},
    "tables, together": {"times_stock": {"at_least": 8}},
    "encode-once": {"times_stock": {"at_least": 3}},
    "encode-once, together": {"times_stock": {"at_least": 6}},
    "reference": {"frozen_over_one_batch": {"at_most": 1.3}},
}
"""By row and figure, what is asked at the full size."""


def main(argv: list[str] | None = None) -> int:
    """Measure, print, write, and return the exit code: 1 if a bar is missed."""
    parsed = parse(argv)
    torch.set_num_threads(1)
    chosen = parsed.only or [*STEPS, "split"]
    before = json.loads(parsed.before.read_text()) if parsed.before else {}
    result: dict[str, Any] = {
        "size": parsed.size,
        "games": GAMES,
        "first_step": FIRST_STEP,
        "rounds": parsed.rounds,
        "versions": harness.versions_of("ray", "torch"),
        "sampling": sampled(parsed, [name for name in STEPS if name in chosen]),
        "before": {name: before[name] for name in ("revision", "machine", "split") if name in before},
        "split": {},
    }
    write(parsed, result)
    for name in parsed.presets if "split" in chosen else ():
        result["split"][name] = iteration_split.measured(name, parsed.size)
        print(iteration_split.text_of(name, result["split"][name], before.get("split", {}).get(name)))
        write(parsed, result)  # now: the next preset takes minutes
    missed = [] if parsed.size != "full" else list(misses(result["sampling"]))
    print("\n".join(missed) or "no bar is missed")
    return int(bool(missed))


def write(parsed: argparse.Namespace, result: Mapping[str, Any]) -> None:
    """Write the result; that of a part goes to no file unless one was named."""
    path = parsed.json or (None if parsed.only else RESULT)
    if path is not None:
        harness.write(path, result)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, SIZES)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*STEPS, "split"],
        metavar="WHAT",
        help=f"case to measure; {', '.join(STEPS)}, or split, the parts of an iteration (default all)",
    )
    parser.add_argument(
        "--presets",
        nargs="+",
        choices=iteration_split.PRESETS,
        metavar="PRESET",
        default=list(iteration_split.PRESETS),
        help=f"presets of `territorial train` to measure; {', '.join(iteration_split.PRESETS)} (default all)",
    )
    parser.add_argument(
        "--before",
        metavar="FILE",
        type=Path,
        help="keep and print the parts of iterations of an earlier result beside these",
    )
    harness.add_rounds(parser, ROUNDS, options.whole(1, 1000))
    harness.add_json(parser, shown=f"{RESULT.name} in benchmarks/results; with --only, none")
    return parser.parse_args(argv)


# ---- sampling ----------------------------------------------------------------------------------------


def rows_of(network: str, seats: Seats) -> Iterable[LeagueRow]:
    """Yield the rows of a network."""
    beside = f"{network}, stock"
    usual = LeagueRow(network, network, seats, beside=BASE if network == "pairs" else beside)
    yield usual
    for snapshots in (0, 1, 4) if network != "reference" else (0, 1):
        yield replace(
            usual, name=f"{network}, {snapshots} snapshots", seats=replace(seats, snapshots=snapshots)
        )
    if network in ("pairs", "features"):
        yield replace(usual, name=f"{network}, 300 snapshots", seats=replace(seats, snapshots=300))
        yield replace(usual, name=f"{network}, every 50 ticks", ticks=50, beside="")
    if network in ("pairs", "reference"):
        return
    yield from rows_of_rllib(beside, network, seats)
    if HAS_TOGETHER:
        at_once, beside = replace(seats, together=True), f"{network}, together, stock"
        yield LeagueRow(f"{network}, together", network, at_once, beside=beside)
        yield from rows_of_rllib(beside, network, at_once)


def rows_of_rllib(name: str, network: str, seats: Seats) -> Iterable[LeagueRow]:
    """Yield the rows with RLlib's own runner: by itself, and with the pool."""
    yield LeagueRow(name, network, seats, runner="modules")
    yield LeagueRow(f"{name}{WITH_POOL}", network, seats, runner="stock")


def sampled(parsed: argparse.Namespace, networks: list[str]) -> dict[str, Any]:
    """Return what sampling with these networks comes to, by row."""
    game, seats = SIZES[parsed.size]
    found: dict[str, Speeds] = {}
    blocks = [[name for name in ("features", "pairs") if name in networks]]
    blocks += [[name] for name in networks if name not in blocks[0]]
    for block in filter(None, blocks):
        rows = [row for name in block for row in rows_of(name, seats)]
        if block == ["pairs"]:
            rows += [row for row in rows_of("features", seats) if row.name == BASE]
        found |= take_turns(rows, game, parsed.rounds)
    if not HAS_TOGETHER and networks:
        print("no rows with one snapshot for a game: Group has no `together` here")
    result = {name: summary(speeds, found) for name, speeds in found.items()}
    for name in networks:
        limit = multiplications.bound(NETWORKS[name], seats, game, GAMES)
        for row in (name, f"{name}, together"):
            if row in result:
                result[row] |= with_bound(name, found[row].row.seats, game, limit)
    print(text_of(result))
    return result


def take_turns(rows: list[LeagueRow], game: GameConfig, rounds: int) -> dict[str, Speeds]:
    """Return the speeds of rows, by name, which are timed one after the other in every round."""
    found = {row.name: Speeds(row) for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        runners = {}
        for row in rows:
            harness.tell(f"{row.name}: snapshots and a runner")
            runners[row.name] = runner_of(row, game, rounds, Path(folder))
            runners[row.name].sample(num_timesteps=GAMES)  # what is compiled, and opened
        for number in range(rounds + 1):  # the first round warms up
            for row in rows:
                harness.tell(f"round {number} of {rounds}: {row.name}")
                runner = runners[row.name]
                if number < 2 or row.runner == "batched":
                    advance(runner, row)
                note(found[row.name], runner, keep=number > 0)
    harness.tell("")
    return found


def runner_of(row: LeagueRow, game: GameConfig, rounds: int, folder: Path) -> Any:
    """Return what plays a row, with its snapshots in a store within ``folder``."""
    network, is_batched = NETWORKS[row.network], row.runner == "batched"
    played = game.replace(decision_every=row.ticks)
    config = configured(network, row.seats, played, folder, "batched" if is_batched else "stock")
    runner = make_runner(config, GAMES, STEPS[row.network] * (rounds if is_batched else 1))
    if row.runner == "modules":
        seat_modules(runner, network, row.seats, folder)
    return runner


def advance(runner: Any, row: LeagueRow) -> None:
    """Begin the games of the seed, and play to where what is timed begins, by random actions."""
    ray_private.set_needs_reset(runner, True)
    steps = FIRST_STEP * 10 // row.ticks
    runner.sample(num_timesteps=GAMES * steps, random_actions=True, force_reset=True)


def note(speeds: Speeds, runner: Any, *, keep: bool) -> None:
    """Add the speed of a sample."""
    steps = GAMES * runner.config.get_rollout_fragment_length(0)
    began = time.process_time()
    episodes = runner.sample(num_timesteps=steps)
    seconds = time.process_time() - began
    if keep:
        learned = sum(len(part) for episode in episodes for part in episode.agent_episodes.values())
        speeds.steps_per_second.append(steps / seconds)
        speeds.learning.append(learned / steps)


# ---- what it comes to --------------------------------------------------------------------------------


def summary(speeds: Speeds, found: Mapping[str, Speeds]) -> dict[str, Any]:
    """Return what is written of a row."""
    row, us = speeds.row, 1e6 / speeds.median
    result: dict[str, Any] = {
        "runner": row.runner,
        "snapshots": row.seats.snapshots,
        "together": row.seats.together,
        "ticks": row.ticks,
        "env_steps_per_process_second": round(speeds.median, 1),
        "us_a_step": round(us, 1),
        "learning_seats": round(statistics.mean(speeds.learning), 2),
        "all_rounds": [round(speed, 1) for speed in speeds.steps_per_second],
    }
    for figure, beside in (("times_stock", row.beside), ("times_with_pool", f"{row.beside}{WITH_POOL}")):
        if beside in found:
            result[figure] = round(speeds.median / found[beside].median, 2)
    bots, one = (found.get(f"{row.network}, {n} snapshots") for n in (0, 1))
    if bots is not None and row.runner == "batched" and row.ticks == 10:
        result["us_of_frozen_seats"] = round(us - 1e6 / bots.median, 1)
    if row.name == "reference" and bots is not None and one is not None:
        of_one = 1e6 / one.median - 1e6 / bots.median
        result["frozen_over_one_batch"] = round(result["us_of_frozen_seats"] / of_one, 2)
    if row.seats.snapshots == 300 and row.network in found:
        result["share_of_usual"] = round(speeds.median / found[row.network].median, 3)
    return result | ({"bars": BARS[row.name]} if row.name in BARS else {})


def with_bound(
    network: str, seats: Seats, game: GameConfig, usual: multiplications.Bound
) -> dict[str, float]:
    """Return what the multiplications of a row take at least; ``usual``: with seats drawn one by one."""
    limit = usual
    if seats.together:
        limit = multiplications.bound(NETWORKS[network], seats, game, GAMES)
    return {
        "multiplications": round(limit.macs),
        "multiplications_per_second": round(limit.macs_a_second),
        "us_of_multiplications": round(limit.us, 1),
    }


def misses(result: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """Yield a line for every bar that is missed or was not measured."""
    for name, found in result.items():
        for figure, asked in found.get("bars", {}).items():
            for kind, limit in asked.items():
                value = found.get(figure)
                is_met = value is not None and (value >= limit if kind == "at_least" else value <= limit)
                if not is_met:
                    yield f"missed: {name}: {figure} is {value}, asked is {kind.replace('_', ' ')} {limit:g}"


def text_of(result: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the rows as lines."""
    lines = [
        f"{'':36}{'steps/s':>9}{'us/step':>10}{'x stock':>9}{'x with pool':>13}{'frozen us':>11}"
        f"{'products us':>13}  bars"
    ]
    for name, found in result.items():
        bars = ", ".join(
            f"{figure} {kind.replace('_', ' ')} {limit:g}"
            for figure, asked in found.get("bars", {}).items()
            for kind, limit in asked.items()
        )
        keys = "times_stock", "times_with_pool", "us_of_frozen_seats", "us_of_multiplications"
        cells = (found.get(key) for key in keys)
        times, pool, frozen, products = ("" if cell is None else f"{cell:,.1f}" for cell in cells)
        lines.append(
            f"{name:36}{found['env_steps_per_process_second']:9,.0f}{found['us_a_step']:10,.1f}{times:>9}"
            f"{pool:>13}{frozen:>11}{products:>13}  {bars}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
