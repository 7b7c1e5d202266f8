#!/usr/bin/env python3
"""What observing costs on top of rules and bots: whole games, played side by side with and without.

    python benchmarks/engine/observe_cost.py                 full size, about a minute
    python benchmarks/engine/observe_cost.py --size small    the same in seconds

All batches play the same games and take turns, so that all of them meet the same noise. The result, with
the machine and the versions, goes to benchmarks/results/observe_cost.json. Exit code 1 if boards, deltas,
tables, front sizes and masks together take more than LIMIT microseconds a step at full size.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import territorial
from benchmarks import goals, harness
from benchmarks.engine import form_costs
from benchmarks.engine.form_costs import CONFIGS, NUM_GAMES

FORMS: dict[str, dict[str, Any]] = {
    "nothing": {"observe": False},
    "tables and masks": {"frames": 0},
    "these and the board, with deltas": {"frames": 1},
    "these and the three boards before it": {"frames": 4},
}
"""What each batch observes; the limit is for the third."""
LIMITED = "these and the board, with deltas"
LIMIT = goals.bound("observe_cost", f"forms/{LIMITED}/cost_us")
STEPS_A_TURN = 25
RESULT = harness.RESULTS / "observe_cost.json"


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = form_costs.parse(argv, __doc__, least_steps=STEPS_A_TURN, result=RESULT)
    turns = take_turns(CONFIGS[parsed.size], parsed.steps, parsed.seed)
    rows = {form: row_of(turns[form], turns["nothing"]) for form in FORMS}
    return form_costs.finish(parsed, rows, column="cost_us", limited=LIMITED, limit=LIMIT)


def take_turns(config: territorial.GameConfig, steps: int, seed: int) -> dict[str, list[float]]:
    """Return the microseconds per step and game of every turn of every batch."""
    batches = {form: form_costs.batch(config, seed, **arguments) for form, arguments in FORMS.items()}
    for game in batches.values():
        game.step()
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    order = list(FORMS)
    num_turns = steps // STEPS_A_TURN
    for turn in range(num_turns):
        for form in order:
            times[form].append(play(batches[form]) * 1e6 / (STEPS_A_TURN * NUM_GAMES))
        order = order[1:] + order[:1]
        form_costs.tell_progress(turn, num_turns)
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
    return {"step_us": round(statistics.fmean(times), 2)} | form_costs.spread_of("cost_us", tenths, 2)


if __name__ == "__main__":
    sys.exit(main())
