#!/usr/bin/env python3
"""What the form "pairs" costs a seat, in whole games of bots that are looked at between steps.

    python benchmarks/engine/pairs_cost.py                 full size, about a minute
    python benchmarks/engine/pairs_cost.py --size small    the same in seconds

Every step, the same games show all living seats, and then one seat of each game, which bears the cost of all
that is summed up once a game. Calls from Python are part of the times. The result, with the machine and the
versions, goes to benchmarks/results/pairs_cost.json. Exit code 1 if a seat of many takes more than LIMIT
microseconds at full size.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import goals, harness
from benchmarks.engine import form_costs
from benchmarks.engine.form_costs import CONFIGS, NUM_GAMES

FORMS: dict[str, dict[str, Any]] = {
    "all living seats, as whole numbers": {"dtype": "int16"},
    "all living seats": {"dtype": "float32"},
    "one seat a game, as whole numbers": {"dtype": "int16"},
    "one seat a game": {"dtype": "float32"},
}
"""What is asked for; the limit is for the second."""
LIMITED = "all living seats"
LIMIT = goals.bound("pairs_cost", f"forms/{LIMITED}/us_a_seat")
RESULT = harness.RESULTS / "pairs_cost.json"

Seats = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = form_costs.parse(argv, __doc__, least_steps=10, result=RESULT)
    seconds, shown, candidates = play(CONFIGS[parsed.size], parsed.steps, parsed.seed)
    living = statistics.fmean(shown[LIMITED]) / NUM_GAMES
    print(
        f"{living:.2f} living seats of {CONFIGS[parsed.size].num_players}, {candidates:.2f} candidates each"
    )
    return form_costs.finish(
        parsed,
        {form: row_of(seconds[form], shown[form]) for form in FORMS},
        column="us_a_seat",
        limited=LIMITED,
        limit=LIMIT,
        living=round(living, 2),
        candidates=round(candidates, 2),
    )


def play(
    config: territorial.GameConfig, steps: int, seed: int
) -> tuple[dict[str, list[float]], dict[str, list[int]], float]:
    """Return the seconds of every call, how many seats it showed, and how many candidates they had."""
    game = form_costs.batch(config, seed, observe=False)
    seconds: dict[str, list[float]] = {form: [] for form in FORMS}
    shown: dict[str, list[int]] = {form: [] for form in FORMS}
    candidates, order = 0, list(FORMS)
    game.pairs([0], [1])
    for step in range(steps):
        game.step()
        form = order[step % len(order)]  # one a step, so that each finds the caches as the step left them
        games, chosen = living(game) if form.startswith("all") else one_a_game(game)
        started = time.perf_counter()
        seen = game.pairs(games, chosen, **FORMS[form])
        seconds[form].append(time.perf_counter() - started)
        shown[form].append(len(games))
        candidates += np.count_nonzero(seen.targets) if form == LIMITED else 0
        form_costs.tell_progress(step, steps)
    return seconds, shown, candidates / sum(shown[LIMITED])


def living(game: territorial.VecGame) -> Seats:
    """Return games and seats, int64 (N,), of all living players."""
    games, seats = np.nonzero(game.state.alive[:, 1:])
    return games, seats + 1


def one_a_game(game: territorial.VecGame) -> Seats:
    """Return the largest player of every game."""
    return np.arange(NUM_GAMES), game.state.land[:, 1:].argmax(axis=1) + 1


def row_of(seconds: list[float], shown: list[int]) -> dict[str, float]:
    """Return the microseconds a seat: the median over tenths of the run, and their spread."""
    tenths = [1e6 * sum(seconds[i::10]) / sum(shown[i::10]) for i in range(min(10, len(shown)))]
    return form_costs.spread_of("us_a_seat", tenths, 3)


if __name__ == "__main__":
    sys.exit(main())
