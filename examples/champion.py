"""Trains a strong player: evolves a style, clones it, trains the clone.

Four commands in a row, each of which resumes where it was stopped; so does this one, with the same folder.
Needs PyTorch, and openskill for ratings.

    python examples/champion.py runs/champion               two hours of processor time: one on two cores
    python examples/champion.py runs/second --seed 1        from another seed
    python examples/champion.py runs/champion --hours 4     resume it, to four hours in all
    python examples/champion.py runs/look --quick           whether all of it runs, in two minutes
    territorial match --seats net:runs/champion/pairs/network.safetensors,banker,besieger,turtle
    python benchmarks/bots/champion.py net:runs/champion/pairs/network.safetensors --json champion.json

In the folder are ``style/``, ``games/``, ``clone/`` and ``pairs/``, one of each step, and ``road.json`` with
the processor time that each took.
"""

import argparse
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from territorial import bots
from territorial.files.atomic import write_file
from territorial.files.bounded import Bounds, parse_object, read_file

HERE = Path(__file__).parent
BOUNDS = Bounds(nbytes=2**16, values=100)  # of road.json
MAPS = "6*lakes + open + mountains + islands + continents + maze + archipelago"
INTERVAL = 20  # ticks from one decision to the next
TRAINING: dict[str, object] = {
    "interval": INTERVAL,
    "map": MAPS,
    "num-games": 192,
    "full-games": 48,
    "rollout": 64,
    "learning-rate": 2e-4,
    "last-rate": 1e-5,
    "entropy": 3e-3,
    "smoothing": 0.02,
}
"""Options of pairs_ppo.py."""
QUICK = TRAINING | {"num-games": 16, "full-games": 4, "rollout": 8}  # those of a short look
OWN = 9
"""Seats of the style in a game of the data set; every bot of the library has one of the others."""
SPARE = 2.0
"""Minutes of processor time that processes take to start, to compile and to end."""


class Road:
    """The steps, with their commands and what they took."""

    def __init__(self, folder: Path, seed: int, hours: float, quick: bool) -> None:
        self.folder, self.seed, self.hours, self.quick = folder, seed, hours, quick
        self.path = folder / "road.json"
        self.seconds: dict[str, float] = {}
        if self.path.exists():
            kept = parse_object(read_file(self.path, BOUNDS.nbytes), BOUNDS)
            if kept["seed"] != seed or kept["quick"] != quick:
                raise ValueError(
                    f"{str(folder)!r} was begun with seed {kept['seed']}; give it that, or another folder"
                )
            self.seconds = kept["processor_seconds"]

    def go(self) -> None:
        """Run all steps."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, command in (
            ("style", self.evolve),
            ("games", self.record),
            ("clone", self.clone),
            ("pairs", self.train),
        ):
            self._run(name, command())
        total = sum(self.seconds.values()) / 60
        parts = ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in self.seconds.items())
        print(f"{total:.1f} minutes of processor time: {parts}")

    def evolve(self) -> list[str]:
        """Return the command that evolves a style."""
        few = ["--generations", "1", "--population", "8"] if self.quick else []
        return [str(HERE / "evolve_style.py"), self._at("style"), f"--seed={self.seed}", *few]

    def record(self) -> list[str]:
        """Return the command that plays games of the style, and keeps its decisions."""
        style = "style:" + self._at("style", "style.json")
        options = {
            "seats": ",".join([style] * OWN + list(bots.NAMES)),
            "rows-of": ",".join(str(1 + seat) for seat in range(OWN)),
            "every-ticks": INTERVAL,
            "discount": 0.9994,  # a step, of which 50 ticks have five: 0.997, as in training
            "games": 10 if self.quick else 400,
            "games-per-shard": 10 if self.quick else 32,
            "seed": 10**6 * (1 + self.seed),
            "map": MAPS,
        }
        changed = ["--set", "num_maps=64", "--set", "max_ticks=6000"]
        return ["-m", "territorial", "dataset", self._at("games"), *written(options), *changed]

    def clone(self) -> list[str]:
        """Return the command that trains a network to decide as the style did."""
        epochs = 1 if self.quick else 6
        where = self._at("games"), self._at("clone")
        return [str(HERE / "clone.py"), *where, *written({"seed": self.seed, "epochs": epochs})]

    def train(self) -> list[str]:
        """Return the command that trains the network in a league, for the time that is left."""
        used = sum(seconds for name, seconds in self.seconds.items() if name != "pairs") / 60
        options = {
            "save": self._at("pairs"),
            "start": self._at("clone", "weights.safetensors"),
            "seed": self.seed,
            "minutes": 0.5 if self.quick else max(1.0, 60 * self.hours - used - SPARE),
        }
        return [str(HERE / "pairs_ppo.py"), *written(options | (QUICK if self.quick else TRAINING))]

    def _at(self, *parts: str) -> str:
        return str(self.folder.joinpath(*parts))

    def _run(self, name: str, command: list[str]) -> None:
        """Run a command of Python, and add the processor time that it took; SystemExit where it fails."""
        print(f"== {name}: {textwrap.shorten(' '.join(command), 100)}", flush=True)
        before = _of_children()
        try:
            code = subprocess.run([sys.executable, *command], check=False).returncode
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + _of_children() - before, 1)
            about = {"seed": self.seed, "quick": self.quick, "processor_seconds": self.seconds}
            write_file(self.path, (json.dumps(about, indent=1) + "\n").encode())
        if code:
            raise SystemExit(code)


def written(options: dict[str, object]) -> list[str]:
    """Return options as they stand in a command."""
    return [f"--{name}={value}" for name, value in options.items()]


def _of_children() -> float:
    """Return the processor seconds of all processes that have ended; 0 where the system does not say."""
    times = os.times()
    return times.children_user + times.children_system


def main(argv: list[str] | None = None) -> None:
    """Go all the way, or on from where it was stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="folder of all that is made")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default %(default)s)")
    parser.add_argument(
        "--hours",
        type=float,
        default=2.0,
        metavar="X",
        help="hours of processor time in all (default %(default)s)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="take a short look: fewer games, steps and rounds"
    )
    parsed = parser.parse_args(argv)
    try:
        road = Road(parsed.folder, parsed.seed, parsed.hours, parsed.quick)
    except (ValueError, KeyError) as error:
        parser.error(str(error))
    road.go()


if __name__ == "__main__":
    main()
