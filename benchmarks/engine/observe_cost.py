#!/usr/bin/env python3
"""What observing costs on top of rules and bots: whole games, played side by side with and without.

    python benchmarks/engine/observe_cost.py                 full size, about a minute
    python benchmarks/engine/observe_cost.py --size small    the same in seconds

All batches play the same games and take turns, so that all of them meet the same noise. The result, with
the machine and the versions, goes to benchmarks/results/observe_cost.json. Exit code 1 if boards, deltas,
tables, front sizes and masks together take more than LIMIT microseconds a step at full size.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import territorial
from benchmarks import goals, harness
from territorial.cli import options

NUM_GAMES = 16
FORMS: dict[str, dict[str, Any]] = {
    "nothing": {"observe": False},
    "tables and masks": {"frames": 0},
    "these and the board, with deltas": {"frames": 1},
    "these and the three boards before it": {"frames": 4},
}
"""What each batch observes; the limit is for the third."""
LIMITED = "these and the board, with deltas"
LIMIT = goals.bound("observe_cost", f"forms/{LIMITED}/cost_us")
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}
STEPS_A_TURN = 25
RESULT = harness.RESULTS / "observe_cost.json"


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    config = CONFIGS[parsed.size]
    turns = take_turns(config, parsed.steps, parsed.seed)
    rows = {form: row_of(turns[form], turns["nothing"]) for form in FORMS}
    is_met = parsed.size != "full" or rows[LIMITED]["cost_us"] <= LIMIT
    result = {
        "config_digest": config.hexdigest,
        "num_games": NUM_GAMES,
        "steps": parsed.steps,
        "limit_us": LIMIT,
        "forms": rows,
    }
    harness.write(parsed.json, result)
    print(f"{'observed':34}{'us a step':>10}{'cost':>8}{'lowest - highest':>20}")
    for form, row in rows.items():
        spread = f"({row['cost_us_lowest']:.1f} - {row['cost_us_highest']:.1f})"
        print(f"{form:34}{row['step_us']:10.1f}{row['cost_us']:8.1f}{spread:>20}")
    print(f"at most {LIMIT:g} are allowed for the third; written to {parsed.json}")
    return 0 if is_met else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, CONFIGS)
    parser.add_argument(
        "--steps",
        type=options.whole(STEPS_A_TURN, 10**7),
        default=6000,
        help="environment steps to run; so many of each game (default %(default)s)",
    )
    options.add_seed_option(parser, "seed of the batches")
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def take_turns(config: territorial.GameConfig, steps: int, seed: int) -> dict[str, list[float]]:
    """Return the microseconds per step and game of every turn of every batch."""
    lineup = territorial.LINEUPS["mixed-1"].seats
    seats = [lineup[i * len(lineup) // config.num_players] for i in range(config.num_players)]
    batches = {
        form: territorial.VecGame(config, NUM_GAMES, seed, seats=seats, **arguments)
        for form, arguments in FORMS.items()
    }
    for game in batches.values():
        game.reset()
        game.step()
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    order = list(FORMS)
    num_turns = steps // STEPS_A_TURN
    for turn in range(num_turns):
        for form in order:
            times[form].append(play(batches[form]) * 1e6 / (STEPS_A_TURN * NUM_GAMES))
        order = order[1:] + order[:1]
        if turn % max(1, num_turns // 20) == 0:
            harness.tell(f"{100 * turn // num_turns:3d} %")
    return times


def play(game: territorial.VecGame) -> float:
    """Play one turn and return the seconds it took."""
    started = time.perf_counter()
    for _ in range(STEPS_A_TURN):
        game.step()
    return time.perf_counter() - started


def row_of(times: Sequence[float], baseline: Sequence[float]) -> dict[str, float]:
    """Return time and cost of a step: means over the games, the spread over tenths of the run."""
    costs = [mine - base for mine, base in zip(times, baseline, strict=True)]
    tenths = [statistics.fmean(costs[i::10]) for i in range(min(10, len(costs)))]
    return {
        "step_us": round(statistics.fmean(times), 2),
        "cost_us": round(statistics.median(tenths), 2),
        "cost_us_lowest": round(min(tenths), 2),
        "cost_us_highest": round(max(tenths), 2),
    }


if __name__ == "__main__":
    sys.exit(main())
