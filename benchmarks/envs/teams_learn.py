#!/usr/bin/env python3
"""What examples/teams_ppo.py learns with either critic, with several seeds: games won, and what is given.

    python benchmarks/envs/teams_learn.py                                     two critics, three seeds
    python benchmarks/envs/teams_learn.py --total-steps 4000 --seeds 1 --eval-games 8    whether it runs

A team of four learns against four bots. Then it plays games that it has not seen, the same for all: with
gifts or without, where its masks have none. Curves are printed as they grow. The result, with the machine and
the versions, goes to benchmarks/results/teams_learn.json, and a picture of it to the documentation.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks import harness
from territorial.cli import options

RESULT = harness.RESULTS / "teams_learn.json"
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "teams_learning.png"
EVAL_SEED = 1_000_000
POINTS = 40
COLOURS = {"central": "#2a6f97", "own": "#e09f3e"}


def main(argv: list[str] | None = None) -> int:
    """Train, print, write, draw, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whole = options.whole(1, 10**9)
    parser.add_argument(
        "--total-steps",
        type=whole,
        default=300_000,
        help="game steps of each training (default %(default)s)",
    )
    parser.add_argument("--seeds", type=whole, default=3, help="trainings of each case (default %(default)s)")
    parser.add_argument(
        "--eval-games", type=whole, default=200, help="games of each evaluation (default %(default)s)"
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    torch.set_num_threads(1)
    example = harness.example("teams_ppo")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in example.CRITICS}
    for seed in range(parsed.seeds):
        for name, runs in found.items():
            runs.append(train(example, name, seed, parsed.total_steps, parsed.eval_games))
    game = {
        name: getattr(example.TeamArgs, name)
        for name in ("side", "allies", "bot", "decision_every", "max_ticks")
    }
    result = {
        "total_steps": parsed.total_steps,
        "eval_games": parsed.eval_games,
        "game": game,
        "critics": found,
        "versions": harness.versions_of("torch"),
    }
    harness.write(parsed.json, result)
    if parsed.json == RESULT:
        draw(result)
    return 0


def train(example: Any, critic: str, seed: int, steps: int, eval_games: int) -> dict[str, Any]:
    """Return the curve of a training, and what the trained team wins with gifts and without."""
    args = example.TeamArgs(critic=critic, seed=seed, total_steps=steps, eval_games=eval_games)
    curve: list[dict[str, float]] = []
    started = time.process_time()
    team = example.train(args, curve.append)
    seconds = time.process_time() - started
    run = {"seed": seed, "process_seconds": seconds, "curve": thinned(curve)}
    for name, gives in (("with gifts", True), ("without", False)):
        won, half, gifts = example.wins_of(args, team, EVAL_SEED, gives=gives)
        run[name] = {"wins": won, "half": half, "gifts": gifts}
        print(
            f"{critic} critic, seed {seed}, {name}: wins {won:.1%} ± {half:.1%}, "
            f"{gifts:.1%} of launches are gifts",
            flush=True,
        )
    return run


def thinned(curve: list[dict[str, float]]) -> list[dict[str, float | None]]:
    """Return at most POINTS points of a curve, each the mean of its share of the steps."""
    size = math.ceil(len(curve) / POINTS)
    return [_mean(curve[first : first + size]) for first in range(0, len(curve), size)]


def _mean(points: list[dict[str, float]]) -> dict[str, float | None]:
    wins = [point["wins"] for point in points if point["wins"] == point["wins"]]
    return {
        "steps": points[-1]["steps"],
        "wins": sum(wins) / len(wins) if wins else None,
        "gifts": sum(point["gifts"] for point in points) / len(points),
    }


def draw(result: dict[str, Any]) -> None:
    """Draw the games won and the gifts over the steps of all trainings."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axes, name, title in zip(
        panels,
        ("wins", "gifts"),
        ("games won while training", "gifts, of all launches"),
        strict=True,
    ):
        for critic, runs in result["critics"].items():
            for i, run in enumerate(runs):
                points = [point for point in run["curve"] if point[name] is not None]
                axes.plot(
                    [point["steps"] / 1000 for point in points],
                    [100 * point[name] for point in points],
                    color=COLOURS[critic],
                    linewidth=1.2,
                    label=f"{critic} critic, each seed" if i == 0 else None,
                )
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("game steps, thousands")
        axes.set_ylabel("per cent")
        axes.set_ylim(0, 100 if name == "wins" else None)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, fontsize=9, loc="lower right")
    figure.savefig(PICTURE, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
