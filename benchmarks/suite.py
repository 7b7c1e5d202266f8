#!/usr/bin/env python3
"""Runs the benchmarks that benchmarks/suite.toml lists, by group, with the Python that runs this.

    python -m benchmarks.suite core              all of a group
    python -m benchmarks.suite league --list     only say what would be run
    python -m benchmarks.suite trainers --quick  a look of some seconds at those that have one

All of a group run, whatever fails. Those that failed are named at the end, and the exit code is 1. With
``--quick`` results go to a folder that is thrown away.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATH = Path(__file__).with_name("suite.toml")
PROGRAMS = {"python": [sys.executable], "territorial": [sys.executable, "-m", "territorial"]}


@dataclass(frozen=True)
class SuiteStep:
    """One command of the suite."""

    run: str
    writes: str | None = None
    quick: str | None = None

    @property
    def result(self) -> str | None:
        """The name of the result that it writes, without .json."""
        words = shlex.split(self.run)
        return Path(words[words.index("--json") + 1]).stem if "--json" in words else self.writes

    def quick_run(self, folder: Path) -> str:
        """Return the command for a look, with the result in ``folder``."""
        return f"{self.run} {self.quick} --json {shlex.quote(str(folder / f'{self.result}.json'))}"


def read(path: Path = PATH) -> dict[str, list[SuiteStep]]:
    """Return the steps of every group, in order."""
    groups = tomllib.loads(path.read_text(encoding="utf-8"))
    return {group: [SuiteStep(**step) for step in steps] for group, steps in groups.items()}


def main(argv: list[str] | None = None) -> int:
    """Run a group and return the exit code."""
    groups = read()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", choices=groups)
    parser.add_argument(
        "--quick", action="store_true", help="take a short look: fewer games, steps and rounds"
    )
    parser.add_argument("--list", action="store_true", help="only print the commands")
    parsed = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="territorial-suite-") as folder:
        commands = commands_of(groups[parsed.group], Path(folder), quick=parsed.quick)
        if parsed.list:
            print("\n".join(commands))
            return 0
        return run_all(commands)


def commands_of(steps: list[SuiteStep], folder: Path, *, quick: bool) -> list[str]:
    """Return the commands of some steps; of the quick ones, if ``quick``."""
    if quick:
        return [step.quick_run(folder) for step in steps if step.quick is not None]
    return [step.run for step in steps]


def run_all(commands: list[str]) -> int:
    """Run all commands and return 1 if one of them failed."""
    failed = []
    for number, command in enumerate(commands, 1):
        print(f"suite: {number} of {len(commands)}: {command}", flush=True)
        if run(command) != 0:
            failed.append(command)
    for command in failed:
        print(f"suite: FAILED: {command}", file=sys.stderr, flush=True)
    return int(bool(failed))


def run(command: str) -> int:
    """Run a command in the checkout and return its exit code."""
    program, *arguments = shlex.split(command)
    # Benchmarks import each other; an environment with the installed wheel has none of them.
    paths = [path for path in (os.environ.get("PYTHONPATH"), str(ROOT)) if path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([*PROGRAMS[program], *arguments], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
