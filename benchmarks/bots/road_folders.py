"""Folders of examples/champion.py and examples/pairs_ppo.py: the times, curves and networks in them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from territorial.bots import Network, Style
from territorial.files.atomic import write_file

ROAD, PROGRESS, HISTORY = "road.json", "progress.csv", "history"
PREPARED = ("style", "games", "clone")
"""The steps before the network is trained."""
NETWORK = "network.safetensors"
CLONED = "clone/weights.safetensors"
"""In the folder of a road."""


class RoadPoint(NamedTuple):
    """A player that a run had come to after so many minutes of processor time."""

    minutes: float
    what: str
    player: Network | Style


class ProgressLine(NamedTuple):
    """An update of a run: the minutes of processor time until then, and the share of seats it was above."""

    minutes: float
    above: float
    """NaN where no game ended."""


def minutes_of(road: Path) -> dict[str, float]:
    """Return the minutes of processor time of each step; OSError where there is no road.json."""
    seconds = json.loads((road / ROAD).read_bytes())["processor_seconds"]
    return {name: value / 60 for name, value in seconds.items()}


def preparation(road: Path) -> float:
    """Return the minutes of processor time before the network was trained."""
    found = minutes_of(road)
    return sum(found[name] for name in PREPARED)


def seed_of(road: Path) -> int:
    """Return the seed of a road."""
    return int(json.loads((road / ROAD).read_bytes())["seed"])


def progress(run: Path) -> list[ProgressLine]:
    """Return the updates of a run of pairs_ppo.py."""
    with open(run / PROGRESS, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [ProgressLine(float(row["processor_seconds"]) / 60, float(row["above"])) for row in rows]


def points_of(folder: Path) -> Iterator[RoadPoint]:
    """Yield what a road or a run had come to, in the order of time; OSError for another folder."""
    if not (folder / ROAD).exists():
        yield from _points_of_run(folder, 0.0)
        return
    if (style := folder / "style" / "style.json").exists():
        yield RoadPoint(minutes_of(folder)["style"], "style", Style.load(style))
    yield RoadPoint(preparation(folder), "clone", Network(folder / "clone" / NETWORK))
    yield from _points_of_run(folder / "pairs", preparation(folder))


def _points_of_run(run: Path, before: float) -> Iterator[RoadPoint]:
    for path in sorted((run / HISTORY).glob("*.safetensors")):
        yield RoadPoint(before + int(path.stem), "network", Network(path))
    yield RoadPoint(before + progress(run)[-1].minutes, "network", Network(run / NETWORK))


def make_untrained(road: Path) -> None:
    """Make a folder for a short look at what reads one: its networks have not learned anything."""
    from territorial.nets import PairPolicy

    for folder in ("clone", f"pairs/{HISTORY}"):
        (road / folder).mkdir(parents=True)
    policy = PairPolicy("standard")
    policy.save(road / CLONED)
    policy.export(road / "pairs" / NETWORK, least_equal=0)
    network = (road / "pairs" / NETWORK).read_bytes()
    for path in (f"clone/{NETWORK}", f"pairs/{HISTORY}/0001.safetensors"):
        (road / path).write_bytes(network)
    (road / "pairs" / PROGRESS).write_text("update,processor_seconds,above\n1,61.2,0.5\n")
    about = {"seed": 0, "quick": True, "processor_seconds": dict.fromkeys((*PREPARED, "pairs"), 6.0)}
    write_file(road / ROAD, json.dumps(about).encode())
