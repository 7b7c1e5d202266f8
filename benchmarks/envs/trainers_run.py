#!/usr/bin/env python3
"""Lets trainers play with masks here and there, eliminated agents removed or kept, and writes down what came
of it.

    python benchmarks/envs/trainers_run.py torchrl           one trainer, where it is installed
    python benchmarks/envs/trainers_run.py tianshou --steps 256

Each is run by its example, ``examples/with_*.py``, once for every place of masks and both values of
`agent_death`. What is known of others stays in the file. ``territorial.testing.trainers`` says what to
expect of each: tests/test_trainer_results.py holds one against the other.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pettingzoo.utils import parallel_to_aec
from pettingzoo.utils.wrappers import BaseParallelWrapper

import territorial
from benchmarks import harness
from territorial.envs.options import CHOICES
from territorial.files.atomic import write_file
from territorial.testing.trainers import TRAINERS, Trainer

ROOT = Path(__file__).resolve().parents[2]
RESULTS = harness.RESULTS / "trainers.json"
STEPS = 128
"""Some games; trainers finish the rollout that they have begun."""
GAME = {
    "height": 16,
    "width": 16,
    "num_players": 4,
    "seats": ("agent", "full_sender", "agent", "full_sender"),
    "max_ticks": 600,
    "obs": "features",
}
"""Games in which agents die early."""
COUNTS = ("steps", "games", "cut_short", "deaths", "illegal_first", "illegal_later")


class StepCounter(BaseParallelWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """Counts steps, games that ended or were cut short by a death, deaths, and launches that were not legal.

    Those in the first step of a game are counted apart: a trainer may go by the masks of the game before.
    """

    count: Counter[str] = Counter()  # noqa: RUF012 - of all copies together: SuperSuit copies environments
    has_lost = False
    """Whether an agent died in the last step, while others play on."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin a game; if that is the answer to a death, the game before has been cut short."""
        self.count.update(cut_short=int(self.has_lost))
        self.has_lost = False
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> Any:
        """Play a step, and count."""
        is_first = self.env.unwrapped.game.state.tick[0] == 0
        illegal, living = self._seen()
        results = self.env.step(actions)
        illegal_now, living_now = self._seen()
        self.has_lost = living_now < living and bool(self.env.agents)
        self.count.update(steps=1, games=int(not self.env.agents), deaths=living - living_now)
        self.count.update({"illegal_first" if is_first else "illegal_later": illegal_now - illegal})
        return results

    def _seen(self) -> tuple[int, int]:
        """Return how many launches were not legal in this game, and how many agents live."""
        env = self.env.unwrapped
        seats = [1 + int(agent.removeprefix("player_")) for agent in env.possible_agents]
        return int(env.game.state.illegal.sum()), int(env.game.state.alive[0, seats].sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainer", choices=[trainer.package for trainer in TRAINERS])
    parser.add_argument(
        "--steps",
        type=int,
        default=STEPS,
        help="environment steps to run; so many of each run (default %(default)s)",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=Path,
        default=RESULTS,
        help="write the result as JSON to FILE; the results of other trainers stay (default %(default)s)",
    )
    args = parser.parse_args()
    (trainer,) = (trainer for trainer in TRAINERS if trainer.package == args.trainer)
    out = args.json.resolve()
    with TemporaryDirectory() as folder, chdir(folder):  # some leave files where they are
        found = run(trainer, args.steps)
    known = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    # The stamp is of this trainer's runs: those of the others were made at other times.
    about = harness.stamp() | found
    text = json.dumps(known | {trainer.package: about}, indent=2, sort_keys=True)
    write_file(out, f"{text}\n".encode())
    return 0


def run(trainer: Trainer, steps: int) -> dict[str, Any]:
    """Return what came of every combination, and which releases were run."""
    sys.path.insert(0, str(ROOT / "examples"))
    example = importlib.import_module(f"with_{trainer.package}")
    runs = []
    for dead, mask in product(CHOICES["agent_death"], CHOICES["action_mask"]):
        options = {"action_mask": mask, "agent_death": dead}
        outcome = one_run(example, maker(trainer, GAME | options), steps)
        runs.append(options | outcome)
        print(runs[-1], flush=True)
    packages = (trainer.package, *trainer.beside, "torch", "gymnasium", "pettingzoo", "numpy", "numba")
    return {
        "game": GAME,
        "steps": steps,
        "versions": {name: release(name) for name in packages},
        "runs": runs,
    }


def maker(trainer: Trainer, options: dict[str, Any]) -> Callable[[], Any]:
    """Return what makes an environment that counts, in the form that the trainer takes; it can be pickled."""
    return partial(_counted, trainer.form, options)


def _counted(form: str, options: dict[str, Any]) -> Any:
    env = StepCounter(territorial.parallel_env(**options))
    return parallel_to_aec(env) if form == "AEC" else env


def one_run(example: Any, make: Callable[[], Any], steps: int) -> dict[str, Any]:
    """Return what was counted while ``example`` trained, and the error that ended it, if one did."""
    StepCounter.count.clear()
    try:
        episodes = example.train(make, steps)
        error = ""
    except Exception as problem:  # whatever a trainer dies of is what is asked for
        episodes, error = None, f"{type(problem).__name__}: {str(problem).splitlines()[0][:200]}"
    counts = {name: StepCounter.count[name] for name in COUNTS}
    return counts | {"episodes": episodes, "error": error}


def release(package: str) -> str | None:
    """Return the version of what is installed or was imported; None if neither."""
    try:
        return version(package)
    except PackageNotFoundError:  # what is run from its sources
        return str(getattr(sys.modules.get(package), "__version__", "")) or None


if __name__ == "__main__":
    from benchmarks.envs import trainers_run

    sys.exit(trainers_run.main())
