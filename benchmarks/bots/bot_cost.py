#!/usr/bin/env python3
"""What bots cost a step: games of 32 of a kind, compared with the same games replayed from their launches.

    python benchmarks/bots/bot_cost.py                  all bots, benchmarks/results/bot_cost.json
    python benchmarks/bots/bot_cost.py --bot-names drip,vulture

Both runs make the same launches in the same kernel; only one of them asks bots which. Whole games at full
size, several side by side. The goal is 3 microseconds an environment step for 32 seats.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median
from typing import Any

import numpy as np

import territorial
from benchmarks import goals, harness
from territorial import bots
from territorial.bots.network_turns import decide_all
from territorial.cli import options
from territorial.engine.seats import LINEUPS
from territorial.engine.step import Batch, decide_launches, play
from territorial.engine.turns import ask_game
from territorial.engine.vec_game import VecGame
from territorial.game.launches import NUM_LAUNCH_COLUMNS, LaunchList
from territorial.game.scratch import make_work
from territorial.game.state import OVER, game_of, seating_of
from territorial.jit.decorators import kernel, njit

RESULT = harness.RESULTS / "bot_cost.json"
GOAL_US = goals.bound("bot_cost", "fields/*/bots_us")
ASK, REPLAY = 0, 1
SIZES = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, max_ticks=1000),
}


@njit
def ask_networks(batch: Batch, work: Any) -> None:
    """Let the networks of all games decide."""
    for k in range(len(batch.actions)):
        game, seating = game_of(batch.state, k), seating_of(batch.state, k)
        if game.clock[OVER] == 0:
            ask_game(game, batch.params, work, seating, batch.custom, batch.networks, batch.actions, k)
    decide_all(batch.custom.networks, batch.networks, batch.actions)


@kernel
def run(batch: Batch, work: Any, launches: Any, counts: Any, steps: Any, mode: int) -> None:
    """Play all games to their ends, asking bots and writing down their launches, or making those.

    ``launches``: int64 (steps, E, P, 4), a table for every step; ``counts``: int64 (steps, E), how many rows
    each has; ``steps``: int64 (E,), written: the steps that were played.
    """
    for k in range(len(steps)):
        steps[k] = 0
    for i in range(len(launches)):
        if mode == ASK and len(batch.networks.waiting.last) > 0:
            ask_networks(batch, work)
        for k in range(len(steps)):
            game = game_of(batch.state, k)
            if game.clock[OVER] == 0:
                if mode == ASK:
                    seating, actions = seating_of(batch.state, k), batch.actions[k]
                    decided = decide_launches(game, batch.params, work, seating, actions, batch.custom)
                    counts[i, k] = decided.end
                    for row in range(decided.end):
                        for column in range(NUM_LAUNCH_COLUMNS):
                            launches[i, k, row, column] = decided.rows[row, column]
                play(game, batch.params, work, LaunchList(launches[i, k], 0, counts[i, k]))
                steps[k] += 1


def main(argv: list[str] | None = None) -> int:
    """Measure, print, write, and return the exit code: 1 if the goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--bot-names",
        default=",".join(bots.NAMES),
        help="bots, by name and separated by commas (default %(default)s)",
    )
    whole = options.whole(1, 1000)
    parser.add_argument(
        "--num-games", type=whole, default=4, help="games that run side by side (default %(default)s)"
    )
    harness.add_rounds(parser, 9, whole)
    parser.add_argument(
        "--size",
        choices=SIZES,
        default="full",
        help="size of the measurement; small: 64 x 64 cells (default %(default)s)",
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    names = [bots.canonical(name) for name in parsed.bot_names.split(",")]
    fields = {name: (name,) * 32 for name in names}
    fields |= {
        name: lineup.seats
        for name, lineup in LINEUPS.items()
        if lineup.teams is None and len(lineup.seats) == 32
    }
    costs = {}
    for name, seats in fields.items():
        costs[name] = cost = measure(SIZES[parsed.size], seats, parsed.num_games, parsed.rounds)
        print(
            f"{name:20} {cost['bots_us']:6.2f} us of {cost['step_us']:6.2f} us a step, "
            f"{cost['steps'] / parsed.num_games:6.0f} steps a game",
            flush=True,
        )
    result = {
        "rules_version": territorial.RULES_VERSION,
        "size": parsed.size,
        "games": parsed.num_games,
        "repeats": parsed.rounds,
        "goal_us": GOAL_US,
        "fields": costs,
    }
    harness.write(parsed.json, result)
    return int(max(cost["bots_us"] for cost in costs.values()) > GOAL_US)


def measure(
    config: territorial.GameConfig, seats: tuple[str, ...], games: int, repeats: int
) -> dict[str, Any]:
    """Return what a step of games of ``seats`` costs, and what of that their bots do."""
    game = VecGame(config, games, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=range(games))
    batch = game._workers.batch(0)
    work = make_work(config, logs_changes=False)
    num_steps = -(-config.max_ticks // config.decision_every)
    launches = np.zeros((num_steps, games, config.num_players, NUM_LAUNCH_COLUMNS), np.int64)
    counts = np.zeros((num_steps, games), np.int64)
    steps = np.zeros(games, np.int64)
    start = [block.copy() for block in game.blocks]
    times: dict[int, list[float]] = {ASK: [], REPLAY: []}
    ends = set()
    for _ in range(repeats + 1):  # the first round compiles and warms up
        for mode, found in times.items():
            for block, saved in zip(game.blocks, start, strict=True):
                block[...] = saved
            started = time.process_time()
            run(batch, work, launches, counts, steps, mode)
            found.append(time.process_time() - started)
            ends.add(tuple(game.digest(k) for k in range(games)))
    if len(ends) != 1:
        raise AssertionError("a replayed game ended differently")
    total = int(steps.sum())
    pairs = [ask - replay for ask, replay in zip(times[ASK][1:], times[REPLAY][1:], strict=True)]
    return {
        "steps": total,
        "step_us": 1e6 * median(times[ASK][1:]) / total,
        "bots_us": 1e6 * median(pairs) / total,
        "lowest_us": 1e6 * min(pairs) / total,
        "highest_us": 1e6 * max(pairs) / total,
    }


if __name__ == "__main__":
    sys.exit(main())
