"""Options, progress and JSON output that benchmarks share."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from territorial.cli.machine import provenance
from territorial.files.atomic import write_file
from territorial.memory.measure import measure

if TYPE_CHECKING:  # only `benchmarks/timed` needs it
    from pytest_benchmark.fixture import BenchmarkFixture

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROC = Path("/proc")


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """Return a parser that shows ``text``, the docstring of a benchmark, and has ``--json``."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write the result as JSON to FILE (default none)"
    )
    return parser


def add_quick(parser: argparse.ArgumentParser) -> None:
    """Add ``--quick``."""
    parser.add_argument(
        "--quick", action="store_true", help="take a short look: fewer games, steps and rounds"
    )


def add_size(parser: argparse.ArgumentParser, sizes: Iterable[str]) -> None:
    """Add ``--size`` of a measurement, one of the names of ``sizes``."""
    parser.add_argument(
        "--size",
        choices=list(sizes),
        default="full",
        help="size of the measurement; full: 256 x 256 cells with 32 players (default %(default)s)",
    )


def progress(what: str) -> None:
    """Show on stderr what is being measured, in place of what was; an empty text clears the line."""
    print(f"\r{what:60}", end="\r", file=sys.stderr, flush=True)


def example(name: str) -> Any:
    """Return examples/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def write(path: Path | None, result: Mapping[str, Any]) -> None:
    """Write ``result``, with the revision, machine and versions in front, to ``path`` where there is one."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, (json.dumps({**provenance(), **result}, indent=2) + "\n").encode())


def note_rate(benchmark: BenchmarkFixture, count: float, unit: str, goal: float | None = None) -> None:
    """Put ``count`` over the median time into the benchmark's extra_info, unless nothing is timed."""
    if goal is not None:
        benchmark.extra_info["goal"] = f"{goal:,.0f} {unit}"
    if benchmark.stats is not None:
        rate = count / benchmark.stats.stats.median
        benchmark.extra_info["rate"] = f"{rate:,.{0 if rate >= 100 else 2}f} {unit}"


class Peak:
    """The most that this process and all that it started take together while the block runs."""

    def __init__(self) -> None:
        self.total = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.total = max(self.total, measure().total)


def processor_seconds(pids: Iterable[int]) -> dict[int, float]:
    """Return how long each process has computed, by its number, on Linux; without those that have ended."""
    found = {}
    for pid in pids:
        try:
            # The name, in brackets, may hold anything; after it user and system time are the 12th and 13th.
            fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found
