#!/usr/bin/env python3
"""What examples/ppo.py learns in the same minutes from pairs and from features, with several seeds.

    python benchmarks/envs/networks_learn.py                    two networks, three seeds: half an hour
    python benchmarks/envs/networks_learn.py --minutes-each 0.1 --seeds 1 --eval-games 8     whether it runs

Each training has the same minutes of the processor, on one thread, and the same options but for the network;
what is compiled before does not count. Curves are printed as they grow. Then the trained network plays games
that it has not seen, the same for all. The result, with the machine and the versions, goes to
benchmarks/results/networks_learn.json. Exit code 1 if pairs do not place better than features with every
seed, by more than the 95 % interval of the difference (not tested with fewer than 100 games).
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import statistics
import sys
import time
from typing import Any

import torch

from benchmarks import harness
from benchmarks.derived_figures import lead_of_pairs

RESULT = harness.RESULTS / "networks_learn.json"
NETWORKS = ("pairs", "features")
GAME: dict[str, Any] = {"height": 64, "width": 64, "num_players": 8, "agent_seats": 2, "bot": "metronome"}
TRAINING = {"num_games": 64, "rollout": 32, "entropy": 0.01}
"""Larger batches than those of the example, and more entropy, without which some seeds stop early."""
EVAL_SEED = 1_000_000
FEWEST_GAMES = 100
POINTS = 80


def main(argv: list[str] | None = None) -> int:
    """Train, print, write, and return the exit code: 1 if pairs are not better."""
    parsed = parse(argv)
    torch.set_num_threads(1)
    ppo = harness.example("ppo")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in NETWORKS}
    for seed in range(parsed.seeds):
        for name in NETWORKS:
            found[name].append(train(ppo, name, seed, parsed.minutes_each, parsed.eval_games))
    print(table(found))
    games = {"minutes": parsed.minutes_each, "eval_games": parsed.eval_games, "game": GAME | TRAINING}
    harness.write(parsed.json, {**games, "networks": found, "versions": harness.versions_of("torch")})
    return int(parsed.eval_games >= FEWEST_GAMES and not is_better(found))


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes-each", type=float, default=4, help="processor time of each training (default %(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each case (default %(default)s)")
    parser.add_argument(
        "--eval-games", type=int, default=200, help="games of each evaluation (default %(default)s)"
    )
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def train(ppo: Any, network: str, seed: int, minutes: float, eval_games: int) -> dict[str, Any]:
    """Return the curve of a training, and the place of the trained network with half its interval."""
    args = ppo.Args(**GAME, **TRAINING, network=network, seed=seed, total_steps=10**9, eval_games=eval_games)
    ppo.train(dataclasses.replace(args, num_games=2, rollout=4, total_steps=8))  # compiles
    started, curve = time.process_time(), []

    def goes_on(steps: int, place: float) -> bool:
        seconds = time.process_time() - started
        curve.append({"seconds": seconds, "steps": steps, "place": None if place != place else place})
        return seconds < 60 * minutes

    print(f"{network}, seed {seed}")
    trained, illegal = ppo.train(args, goes_on)
    place, half = ppo.mean_place(args, trained, EVAL_SEED)
    print(f"{network}, seed {seed}: mean place {place:.2f} ± {half:.2f} of {GAME['num_players']}", flush=True)
    return {"seed": seed, "place": place, "half": half, "illegal": illegal, "curve": thinned(curve)}


def thinned(curve: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at most POINTS points of a curve: the last of each share of the time, with its mean place."""
    end = curve[-1]["seconds"]
    shares = itertools.groupby(curve, lambda point: math.ceil(POINTS * point["seconds"] / end))
    return [_merged(list(points)) for _, points in shares]


def _merged(points: list[dict[str, Any]]) -> dict[str, Any]:
    places = [point["place"] for point in points if point["place"] is not None]
    return points[-1] | {"place": statistics.fmean(places) if places else None}


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return the mean place while training, in eighths of the time, and at the end."""
    lines = [f"{'mean place':18}" + "".join(f"{i}/8".rjust(7) for i in range(1, 9)) + "   unseen games"]
    for name, runs in found.items():
        for run in runs:
            places = "".join(_cell(run["curve"], i) for i in range(8))
            lines.append(
                f"{name + ', seed ' + str(run['seed']):18}{places}{run['place']:8.2f} ± {run['half']:.2f}"
            )
    return "\n".join(lines)


def _cell(curve: list[dict[str, Any]], eighth: int) -> str:
    """Return the mean of the places in an eighth of a curve's time."""
    end = curve[-1]["seconds"]
    places = [
        point["place"]
        for point in curve
        if point["place"] is not None and eighth * end < 8 * point["seconds"] <= (eighth + 1) * end
    ]
    return f"{sum(places) / len(places):7.2f}" if places else "      -"


def is_better(found: dict[str, list[dict[str, Any]]]) -> bool:
    """Return whether pairs place better with every seed, by more than the interval of the difference."""
    return all(lead > 0 for lead in lead_of_pairs({"networks": found}))


if __name__ == "__main__":
    sys.exit(main())
