#!/usr/bin/env python3
"""Trains a league for an hour and measures its main agent.

    python benchmarks/rllib/league_run.py                  an hour and a quarter on two cores
    python benchmarks/rllib/league_run.py --minutes 5 --episodes 8

The preset "features": 12 players on 96 x 96 cells, a network over the vector of features. At the end the
newest copy of the main agent and the untrained one play against every bot: two of their own seats, ten of
one bot, whole games. It resumes a run that was stopped; `territorial league show` draws its plots.
"""

import subprocess
import sys
from pathlib import Path

from benchmarks import harness
from rllib_adapters.train.options import Training
from rllib_adapters.train.run import SNAPSHOTS
from territorial import Scenario, bots, evaluate
from territorial.cli.league import league_of
from territorial.evaluation.evaluate import Evaluation
from territorial.league import SnapshotStore
from territorial.nets.players import SnapshotPolicy

RUN = Path(__file__).parents[2] / "runs" / "league-hour"
OWN = 2


def main(argv: list[str] | None = None) -> int:
    """Train, evaluate, and print."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "--minutes", type=float, default=60, help="minutes of the run at most (default %(default)s)"
    )
    parser.add_argument(
        "--episodes",
        type=int,
        default=64,
        help="episodes of each pair in an evaluation (default %(default)s)",
    )
    parser.add_argument("--run", type=Path, default=RUN, help="folder of the run (default %(default)s)")
    parsed = parser.parse_args(argv)
    train(parsed.run, parsed.minutes)
    found = against_bots(parsed.run, parsed.episodes)
    scores, places = found.matrix("score"), found.matrix("place")
    result: dict[str, dict[str, list[float]]] = {}
    for i, policy in enumerate(found.policies):
        result[policy] = {}
        for j, bot in enumerate(found.scenarios):
            score, low, high = (float(part[i, j]) for part in (scores.value, scores.low, scores.high))
            result[policy][bot] = [score, low, high, float(places.value[i, j])]
            print(
                f"{policy:12} against {bot:14} score {score:.3f} ({low:.3f}..{high:.3f}), "
                f"mean place {places.value[i, j]:.1f}"
            )
    harness.write(parsed.json, {"score_low_high_place": result})
    return 0


def train(run: Path, minutes: float) -> None:
    """Train, or go on."""
    arguments = [str(run), "--minutes", str(minutes)]
    arguments += ["--resume"] if (run / "run.json").exists() else ["--preset", "features"]
    command = [sys.executable, "-W", "ignore", "-m", "territorial", "train", *arguments]
    subprocess.run(command, check=True)


def against_bots(run: Path, episodes: int) -> Evaluation:
    """Return how the newest and the first copy do against every bot."""
    training, (league, _) = Training.read(run / "run.json"), league_of(run)
    store = SnapshotStore(run / SNAPSHOTS)
    module = training.net.module
    trunk = {module.architecture: module.make_trunk}
    ours = [name for name, one in league.snapshots.items() if one.learner == "main"]
    policies = {name: SnapshotPolicy(store, name, trunk) for name in dict.fromkeys((ours[-1], ours[0]))}
    settings = {
        name: Scenario(config=training.game(), seats=["agent"] * OWN + [name] * (training.num_players - OWN))
        for name in bots.NAMES
    }
    return evaluate(policies, settings, episodes, out=run / "against_bots.jsonl")


if __name__ == "__main__":
    sys.exit(main())
