#!/usr/bin/env python3
"""What a decision of a network in the engine costs, by candidates, and what it is in whole games.

    python benchmarks/bots/network_cost.py                 full size, about a minute
    python benchmarks/bots/network_cost.py --size small    the same in seconds

The network has the standard size and weights drawn at random, which cost as much as trained ones. First it
decides for rows of games between bots, on one core, from columns to a launch. Then it has every seat of whole
games, which are compared with the same games replayed from their launches, as ``bot_cost`` does, and so has
``champion-1``. This includes the columns. Times are those of the processor. The result goes to
benchmarks/results/network_cost.json. Exit code 1 if a decision takes longer than its goals at full size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import territorial
from benchmarks import goals, harness
from benchmarks.bots import bot_cost
from territorial.bots import Network
from territorial.bots.learned import learned_bot
from territorial.bots.network import Rows, choose_for_rows
from territorial.bots.network_file import LAYERS, Description, NetworkLayer, assembled, write
from territorial.bots.network_layers import make_network_scratch
from territorial.cli import options
from territorial.observation.pair_columns import OWN, PAIRS

RESULT = harness.RESULTS / "network_cost.json"
AS_IN_GAMES, MOST = "as in games", "8"
GOALS_US = {name: goals.bound("network_cost", f"candidates/{name}/us") for name in (AS_IN_GAMES, MOST)}
CHAMPION = "champion-1"
INTERVAL = 50
NUM_ROWS = 4096
NUM_GAMES = 4


def main(argv: list[str] | None = None) -> int:
    """Measure, print, write, and return the exit code: 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, bot_cost.SIZES)
    harness.add_rounds(parser, 9)
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    config = bot_cost.SIZES[parsed.size]
    with tempfile.TemporaryDirectory() as folder:
        network = Network(random_network(Path(folder) / "random.safetensors"))
        result = {
            "size": parsed.size,
            "weights": sum(size.inputs * size.outputs for size in description().sizes().values()),
            "candidates": by_candidates(network, rows_of(config), parsed.rounds),
            "games": in_games(network, config, parsed.rounds),
            "champion": in_games(learned_bot(CHAMPION), config, parsed.rounds),
        }
    harness.write(parsed.json, result)
    for name, row in result["candidates"].items():
        print(
            f"{row['mean']:4.1f} candidates ({name}): {row['us']:5.2f} us ({row['lowest_us']:.2f} at least)"
        )
    for name in ("games", "champion"):
        print(
            "in whole games, columns included: {us_a_decision:.2f} us, {living:.1f} living".format(
                **result[name]
            ),
            f"({name})",
        )
    found = {name: result["candidates"][name]["us"] for name in GOALS_US}
    return int(parsed.size == "full" and any(found[name] > goal for name, goal in GOALS_US.items()))


def description() -> Description:
    """Return a network of the standard size."""
    return Description(
        own_columns=tuple((column.name, column.version) for column in OWN),
        pair_columns=tuple((column.name, column.version) for column in PAIRS),
        candidate_width=64,
        context_width=128,
        num_candidates=8,
        interval=INTERVAL,
        temperature=0,
        shifts=dict.fromkeys(LAYERS, 11),
    )


def random_network(path: Path) -> Path:
    """Write a network of random weights to ``path``, and return that."""
    rng, about = np.random.default_rng(0), description()
    layers = {
        name: NetworkLayer(
            rng.integers(-600, 600, (size.inputs, size.outputs), np.int16),
            np.zeros(size.outputs, np.int32),
            11,
        )
        for name, size in about.sizes().items()
    }
    write(path, assembled(about, layers))
    return path


def rows_of(config: territorial.GameConfig) -> Rows:
    """Return what seats see in games of mixed-2, in the middle of them."""
    game = territorial.VecGame(config, 8, seats=territorial.LINEUPS["mixed-2"].seats, observe=False)
    game.reset(seeds=range(8))
    found: list[Any] = []
    while sum(len(seen.own) for seen in found) < NUM_ROWS:
        for _ in range(INTERVAL // config.decision_every):
            game.step()
        games, seats = np.nonzero(game.state.alive[:, 1:])
        found.append(game.pairs(games, seats + 1, 8, "int16"))
    own, pairs = (np.concatenate([seen[i] for seen in found])[:NUM_ROWS] for i in (0, 1))
    return Rows(own, pairs, np.count_nonzero(pairs[:, :, 0], axis=1))


def by_candidates(network: Network, rows: Rows, rounds: int) -> dict[str, dict[str, float]]:
    """Return what a decision takes for as many candidates as occur, for none, one, three and eight."""
    found = {AS_IN_GAMES: timed(network, rows, rounds)}
    for count in (0, 1, 3, 8):
        filled = rows.pairs.copy()
        filled[:] = filled[:, :1]
        found[str(count)] = timed(network, Rows(rows.own, filled, np.full(NUM_ROWS, count)), rounds)
    return found


def timed(network: Network, rows: Rows, rounds: int) -> dict[str, float]:
    """Return the microseconds of processor time of a decision: the median of ``rounds``, and the least."""
    chosen, numbers = np.zeros((NUM_ROWS, 2), np.int64), np.zeros((NUM_ROWS, 2), np.uint64)
    logits, scratch, seconds = np.zeros((NUM_ROWS, 9, 11), np.int64), make_network_scratch(), []
    for _ in range(rounds + 1):  # the first compiles and warms up
        started = time.process_time()
        choose_for_rows(network.row(), scratch, rows, numbers, chosen, logits)
        seconds.append((time.process_time() - started) / NUM_ROWS)
    us = 1e6 * np.array(seconds[1:])
    return {"mean": float(rows.counts.mean()), "us": float(np.median(us)), "lowest_us": float(us.min())}


def in_games(network: Network, config: territorial.GameConfig, rounds: int) -> dict[str, float]:
    """Return what a decision takes in whole games, and how many players live in them on average."""
    seats = (network,) * config.num_players
    cost = bot_cost.measure(config, seats, NUM_GAMES, rounds)
    game = territorial.VecGame(config, NUM_GAMES, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=range(NUM_GAMES))
    living, steps = 0, 0
    while not game.state.over.all():
        goes_on = game.state.over == 0
        living += int((game.state.alive[goes_on][:, 1:] != 0).sum())
        steps += int(goes_on.sum())
        game.step()
    decisions = living / steps * config.decision_every / network.interval
    return {**cost, "living": living / steps, "us_a_decision": cost["bots_us"] / decisions}


if __name__ == "__main__":
    sys.exit(main())
