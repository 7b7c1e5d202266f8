#!/usr/bin/env python3
"""Times bots and networks per step, beside replayed launches.

    python benchmarks/bots/bot_cost.py                  all bots, the line-ups and champion-1, some minutes
    python benchmarks/bots/bot_cost.py --bot-names drip,vulture,champion-1
    python benchmarks/bots/bot_cost.py --size small     64 x 64 cells

Both runs make the same launches in the same kernel; only one asks bots which. Whole games of 32 seats,
several side by side, by the processor's time on one core. For a network, what it sees is included. The exit
code is 1 if, at full size, the 32 bots of a field take over MOST_US a step, or a decision of a network takes
over MOST_DECISION_US.
"""

import sys
import time
from statistics import median
from typing import Any

import numpy as np

import territorial
from benchmarks import harness
from territorial import bots
from territorial.bots import Network
from territorial.bots.bot_files import bot_of_file, is_bot_file, library_bot
from territorial.bots.network import decide_all
from territorial.cli import options
from territorial.engine.seats import LINEUPS
from territorial.engine.step import Batch, ask_game, decide_launches, play
from territorial.engine.vec_game import VecGame
from territorial.game.scratch import NUM_LAUNCH_COLUMNS, LaunchList, make_work
from territorial.game.state import OVER, game_of, seating_of
from territorial.jit.decorators import kernel, njit

MOST_US, MOST_DECISION_US = 3.0, 6.0
CHAMPION = "champion-1"
ASK, REPLAY = 0, 1
SIZES = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, max_ticks=1000),
}


@njit
def ask_networks(batch: Batch, work: Any) -> None:
    """Let the networks of all games decide."""
    for k in range(len(batch.arrays.actions)):
        game, seating = game_of(batch.arrays.state, k), seating_of(batch.arrays.state, k)
        if game.clock[OVER] == 0:
            ask_game(game, batch.params, work, seating, batch.custom, batch.networks, batch.arrays.actions, k)
    decide_all(batch.custom.networks, batch.networks, batch.arrays.actions)


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
            game = game_of(batch.arrays.state, k)
            if game.clock[OVER] == 0:
                if mode == ASK:
                    seating, actions = seating_of(batch.arrays.state, k), batch.arrays.actions[k]
                    decided = decide_launches(game, batch.params, work, seating, actions, batch.custom)
                    counts[i, k] = decided.end
                    for row in range(decided.end):
                        for column in range(NUM_LAUNCH_COLUMNS):
                            launches[i, k, row, column] = decided.rows[row, column]
                play(game, batch.params, work, LaunchList(launches[i, k], 0, counts[i, k]))
                steps[k] += 1


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "--bot-names",
        default=",".join([*bots.NAMES, *LINEUPS, CHAMPION]),
        help="bots, by name and separated by commas; also line-ups and net:FILE (default %(default)s)",
    )
    whole = options.whole(1, 1000)
    parser.add_argument(
        "--num-games", type=whole, default=4, help="games that run side by side (default %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=whole, default=9, help="times that each case is measured (default %(default)s)"
    )
    harness.add_size(parser, SIZES)
    parsed = parser.parse_args(argv)
    config = SIZES[parsed.size]
    costs, is_met = {}, True
    for name in parsed.bot_names.split(","):
        if name in LINEUPS and (LINEUPS[name].teams or len(LINEUPS[name].seats) != config.num_players):
            continue
        seats = LINEUPS[name].seats if name in LINEUPS else (bot_of(name),) * config.num_players
        costs[name] = cost = measure(config, seats, parsed.num_games, parsed.rounds)
        decision = ""
        if isinstance(seats[0], Network):
            cost["us_a_decision"] = cost["bots_us"] / decisions_a_step(config, seats[0], parsed.num_games)
            decision = f", {cost['us_a_decision']:.2f} us a decision"
            is_met = is_met and cost["us_a_decision"] <= MOST_DECISION_US
        else:
            is_met = is_met and cost["bots_us"] <= MOST_US
        print(
            f"{name:20} {cost['bots_us']:6.2f} us of {cost['step_us']:6.2f} us a step{decision}", flush=True
        )
    harness.write(parsed.json, {"size": parsed.size, "fields": costs})
    return int(parsed.size == "full" and not is_met)


def bot_of(name: str) -> Any:
    """Return a bot by its name, or by a file."""
    if is_bot_file(name):
        return bot_of_file("bot_names", name)
    return library_bot(name) if name == CHAMPION else bots.canonical(name)


def decisions_a_step(config: territorial.GameConfig, network: Network, games: int) -> float:
    """Return how many seats of a game decide in a step on average, all of them of a network."""
    game = VecGame(config, games, seats=(network,) * config.num_players, autoreset="disabled", observe=False)
    game.reset(seeds=range(games))
    living, steps = 0, 0
    while not game.state.over.all():
        goes_on = game.state.over == 0
        living += int((game.state.alive[goes_on][:, 1:] != 0).sum())
        steps += int(goes_on.sum())
        game.step()
    return living / steps * config.decision_every / network.interval


def measure(
    config: territorial.GameConfig, seats: tuple[Any, ...], games: int, repeats: int
) -> dict[str, Any]:
    """Return what a step of games of ``seats`` costs, and what of that their bots do."""
    game = VecGame(config, games, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=range(games))
    batch = game._calls.batch(0)
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
    return {"step_us": 1e6 * median(times[ASK][1:]) / total, "bots_us": 1e6 * median(pairs) / total}


if __name__ == "__main__":
    sys.exit(main())
