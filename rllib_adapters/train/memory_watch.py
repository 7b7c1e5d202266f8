"""What a run takes of memory while it trains: measured after every iteration, logged and drawn."""

from __future__ import annotations

import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

from rllib_adapters.train.growing import cut_back
from territorial.config.validation import finite_number, shown, whole_number
from territorial.files.atomic import draft_of, naming
from territorial.files.bounded import Bounds, check_fields, open_file, parse_object, whole_lines
from territorial.memory.measure import MEANINGS, Memory, measure

MB = 2**20
BOUNDS = Bounds(nbytes=2**20, values=10_000)
"""Of a line of the file."""
DRIVER = "driver"
"""The kind of this process."""
RAY = "Ray"
"""The kind of Ray's own processes: scheduler, object store, waiting workers."""
_RAYS_ACTORS = ("IDLE", "Dashboard", "RuntimeEnv")
"""How the names of such processes begin that are called like actors."""


class MemoryWatch:
    """A callback that measures this machine's part of a run after every iteration::

        config.callbacks(on_train_result=MemoryWatch("runs/memory.jsonl"))

    It adds ``result["memory"]``, and a line of JSON to ``path``. That has ``iteration``, ``seconds`` since
    the first line of this process, and ``measure``, PSS or USS. It has ``total`` and ``private`` bytes of the
    driver and all that it started, and ``kinds``, the bytes of each kind of process. :func:`plot_memory`
    draws the file. What processes of Ray on other machines take, and those of a cluster that was there
    before, is not in it.

    Args:
        path: the file, made with its folder if it is not there; a run that is resumed adds to the lines of
            the iterations before.
        every: iterations from one measurement to the next. One takes some milliseconds a process.

    ValueError for a file of something else.

    """

    def __init__(self, path: str | os.PathLike[str], *, every: int = 1) -> None:
        if every < 1:
            raise ValueError(f"every is {every}; it must be at least 1")
        self.path = Path(path).absolute()
        self.every = every
        self._start: float | None = None
        if self.path.exists():
            _read_rows(self.path)

    def __call__(self, *, algorithm: Any, result: dict[str, Any], **_: Any) -> None:
        """Measure, if it is time."""
        iteration = int(result["training_iteration"])
        if iteration % self.every:
            return
        now = time.monotonic()
        if self._start is None:
            self._start = now
            if self.path.exists():
                cut_back(self.path, lambda _, line: json.loads(line)["iteration"] < iteration)
        result["memory"] = {
            "iteration": iteration,
            "seconds": round(now - self._start, 3),
            **describe(measure()),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(result["memory"]) + "\n")


def describe(memory: Memory) -> dict[str, Any]:
    """Return ``measure``, ``total`` and ``private`` of what was measured, and ``kinds``, bytes by process."""
    kinds: dict[str, int] = {}
    for process in memory.processes:
        kind = kind_of(process.pid, process.name)
        kinds[kind] = kinds.get(kind, 0) + process.nbytes
    return {"measure": memory.measure, "total": memory.total, "private": memory.private, "kinds": kinds}


def kind_of(pid: int, name: str) -> str:
    """Return what a process is: "driver" for this one, its class for an actor of Ray's, else "Ray".

    Linux cuts names to 15 characters, those of actors too: "ray::StockEnvRu" is "StockEnvRu".
    """
    if pid == os.getpid():
        return DRIVER
    kind = name.removeprefix("ray::").partition(".")[0]
    return kind if name.startswith("ray::") and not kind.startswith(_RAYS_ACTORS) else RAY


def read_memory(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the lines that ``MemoryWatch`` wrote; ValueError names one that is not of it."""
    if not (rows := _read_rows(path)):
        raise ValueError(f"{os.fspath(path)!r} has no measurements yet")
    return rows


def _read_rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the lines of a file, of which there may be none so far."""
    rows: list[dict[str, Any]] = []
    try:
        with open_file(path) as file:
            rows.extend(_checked_row(parse_object(line, BOUNDS)) for line in whole_lines(file, BOUNDS.nbytes))
    except (ValueError, TypeError) as error:
        where = f"{os.fspath(path)!r}, line {len(rows) + 1}"
        raise ValueError(f"{where} was not written by a MemoryWatch: {error}") from None
    return rows


def _checked_row(row: dict[str, Any]) -> dict[str, Any]:
    check_fields("it", row, {"iteration", "seconds", "measure", "total", "kinds"}, row)
    if row["measure"] not in list(MEANINGS):
        raise ValueError(f"measure is {shown(row['measure'])}; it must be one of {', '.join(MEANINGS)}")
    kinds = row["kinds"]
    check_fields("kinds", kinds, (), kinds if isinstance(kinds, dict) else ())
    return {
        "iteration": whole_number("iteration", row["iteration"], 0),
        "seconds": finite_number("seconds", row["seconds"], 0),
        "measure": row["measure"],
        "total": finite_number("total", row["total"], 0),
        "kinds": {name: finite_number(f"kinds[{shown(name)}]", size, 0) for name, size in kinds.items()},
    }


def plot_memory(path: str | os.PathLike[str], picture: str | os.PathLike[str]) -> None:
    """Draw what ``MemoryWatch`` wrote to ``path``, one band a kind of process, into the file ``picture``.

    Its ending says the format, such as .png or .svg. ImportError if matplotlib is not installed.
    """
    rows = read_memory(path)
    try:
        figures = importlib.import_module("matplotlib.figure")
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'territorial-env[render]'") from None
    kinds = sorted({kind for row in rows for kind in row["kinds"]}, key=lambda kind: (kind != DRIVER, kind))
    iterations = [row["iteration"] for row in rows]
    bands = [[row["kinds"].get(kind, 0) / MB for row in rows] for kind in kinds]
    figure = figures.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.stackplot(iterations, bands, labels=kinds, alpha=0.85)
    axes.set(xlabel="iteration", ylabel="MB", xlim=(iterations[0], max(iterations[-1], iterations[0] + 1)))
    axes.set_title(MEANINGS[rows[-1]["measure"]], fontsize=8)
    axes.legend(loc="lower left", fontsize=8, ncols=2)
    with draft_of(picture) as draft:
        figure.savefig(draft, dpi=120, format=Path(picture).suffix[1:] or "png")
