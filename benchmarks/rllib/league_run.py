#!/usr/bin/env python3
"""Trains a league for an hour with ``territorial train``, and finds out how good its main agent has become.

    python benchmarks/rllib/league_run.py                  an hour and a quarter on two cores
    python benchmarks/rllib/league_run.py --minutes 5 --episodes 8
    python benchmarks/rllib/league_run.py --redraw           the plots of the result on file, and no more

The preset "features": 12 players on 96 x 96 cells, a network over the vector of features. At the end the
newest copy of the main agent and the untrained one play against every bot: two of their own seats, ten of
one bot, whole games. The run is in runs/league-hour; the result is benchmarks/results/league_run.json; the
plots of ``territorial league show`` are put into docs/images. It resumes a run that was stopped.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks import harness
from rllib_adapters.train.options import BOTS, Training
from rllib_adapters.train.run import NETWORKS, SNAPSHOTS
from territorial import Setting, bots, evaluate
from territorial.cli.league import league_of, result_of
from territorial.evaluation.charts import check_matplotlib
from territorial.evaluation.ratings import Rating, Ratings
from territorial.league import SnapshotStore
from territorial.league.charts import draw_league
from territorial.nets.players import SnapshotPolicy

ROOT = Path(__file__).parents[2]
RESULT, RUN = harness.RESULTS / "league_run.json", ROOT / "runs" / "league-hour"
IMAGES = ROOT / "docs" / "images"
OWN = 2


def train(run: Path, minutes: float) -> list[str]:
    """Train, or go on, and return the arguments of the command."""
    arguments = [str(run), "--minutes", str(minutes)]
    arguments += ["--resume"] if (run / "run.json").exists() else ["--preset", "features"]
    command = [sys.executable, "-W", "ignore", "-m", "rllib_adapters.train.cli", *arguments]
    subprocess.run(command, check=True)
    return ["territorial", "train", run.name, "--preset", "features", "--minutes", f"{minutes:g}"]


def against_bots(run: Path, episodes: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return score and place, with intervals, of the newest and the first copy against every bot."""
    training, (league, _) = Training.read(run / "run.json"), league_of(run)
    store = SnapshotStore(run / SNAPSHOTS)
    module, _ = NETWORKS[training.network]
    trunk = {module.architecture: module.make_trunk}
    ours = [name for name, one in league.snapshots.items() if one.learner == "main"]
    policies = {name: SnapshotPolicy(store, name, trunk) for name in dict.fromkeys((ours[-1], ours[0]))}
    names = [name for name in bots.ALIASES if bots.canonical(name) in bots.NAMES]
    settings = {
        name: Setting(config=training.game(), seats=["agent"] * OWN + [name] * (training.num_players - OWN))
        for name in dict.fromkeys(names)
    }
    found = evaluate(policies, settings, episodes, out=run / "against_bots.jsonl")
    tables = {metric: found.matrix(metric) for metric in ("score", "place", "win")}
    return {
        policy: {
            setting: {
                f"{metric}{end}": round(float(getattr(table, part)[i, j]), 4)
                for metric, table in tables.items()
                for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))
            }
            for j, setting in enumerate(found.settings)
        }
        for i, policy in enumerate(found.policies)
    }


class Recorded:
    """A league as its result has it: what plots need of a ``League``."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.history, self.payoff = result["history"], self
        self.snapshots = {one["name"]: SimpleNamespace(**one) for one in result["snapshots"]}
        self.names, self.ratings = result["players"], result["ratings"]
        self.above, self.met = np.array(result["above"], float), np.array(result["met"])  # None is NaN

    def rating(self, name: str) -> Rating:
        """Return how strong a player is thought to be."""
        return Rating(*self.ratings[name]) if self.ratings[name] else Ratings.START

    def opponents(self, name: str) -> list[str]:
        """Return whom a player has met."""
        return [self.names[i] for i in np.flatnonzero(self.met[self.names.index(name)])]

    def matrix(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return how often the row was above the column, and in how many games."""
        cells = np.ix_(*2 * [[self.names.index(name) for name in names]])
        return self.above[cells], self.met[cells]


def draw(result: dict[str, Any], plots: Path) -> None:
    """Draw the plots of ``territorial league show`` for a result, as ``league_NAME.png``."""
    with tempfile.TemporaryDirectory() as folder:
        for path in draw_league(Recorded(result["league"]), Path(folder)):
            shutil.copy(path, plots / f"league_{path.name}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--minutes",
        type=float,
        default=60,
        help="minutes of the run at most (default %(default)s)",
    )
    parser.add_argument(
        "--episodes",
        type=int,
        default=64,
        help="episodes of each pair in an evaluation (default %(default)s)",
    )
    parser.add_argument("--run", type=Path, default=RUN, help="folder of the run (default %(default)s)")
    harness.add_json(parser, RESULT)
    parser.add_argument(
        "--plots",
        type=Path,
        default=IMAGES,
        help="draw plots into FOLDER (needs matplotlib) (default %(default)s)",
    )
    parser.add_argument(
        "--redraw", action="store_true", help="draw the plots of the result on file, and train nothing"
    )
    parsed = parser.parse_args(argv)
    check_matplotlib()  # now, and not after an hour
    if parsed.redraw:
        draw(json.loads(parsed.json.read_text(encoding="utf-8")), parsed.plots)
        return 0
    command = train(parsed.run, parsed.minutes)
    league, _ = league_of(parsed.run)
    result = {
        "versions": harness.versions_of("torch", "ray"),
        "command": " ".join(command),
        "bots_in_training": list(BOTS),
        "own_seats": OWN,
        "episodes": parsed.episodes,
        "against_bots": against_bots(parsed.run, parsed.episodes),
        "league": result_of(league),
    }
    harness.write(parsed.json, result)
    draw(result, parsed.plots)
    for policy, rows in result["against_bots"].items():
        for bot, one in rows.items():
            print(
                f"{policy:12} against {bot:14} score {one['score']:.3f} "
                f"({one['score_low']:.3f}..{one['score_high']:.3f}), mean place {one['place']:.1f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
