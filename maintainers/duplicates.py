#!/usr/bin/env python3
"""Finds code that is written twice: blocks of lines in two files, and functions that are equal but for names.

    python maintainers/duplicates.py            all copies, with the reasons why they may stay
    python maintainers/duplicates.py --check    exit code 1 unless every copy has a reason, and the reverse

Blocks are found by symilar, a tool of pylint: MIN_LINES equal lines or more. Comments, docstrings, imports
and signatures do not count: ``maintainers/docstrings.py`` repeats arguments on purpose. Functions are
compared as syntax trees, with numbers for names. Reasons stand in ``maintainers/duplicates.toml``.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("territorial", "rllib_adapters", "benchmarks")
REASONS = Path(__file__).with_suffix(".toml")
MIN_LINES = 6
MIN_NODES = 25
"""Functions with smaller syntax trees are not compared: there are not many ways to write them."""
IGNORED = ("--ignore-comments", "--ignore-docstrings", "--ignore-imports", "--ignore-signatures")
BLOCK = re.compile(r"^\d+ similar lines in \d+ files\n((?:==.*\n)+)((?: {3}.*\n|\n)*)", re.MULTILINE)
PLACE = re.compile(r"^==(.*):\[(\d+):(\d+)\]$", re.MULTILINE)


class Place(NamedTuple):
    """Where one copy stands."""

    file: str
    line: int


class Copy(NamedTuple):
    """Code that stands in several places."""

    places: tuple[Place, ...]
    begins: str
    """Its first line; for functions, their names."""

    @property
    def key(self) -> tuple[frozenset[str], str]:
        """What tells it from other copies, wherever in the files it stands."""
        return frozenset(place.file for place in self.places), self.begins

    def __str__(self) -> str:
        places = "  ".join(f"{place.file}:{place.line}" for place in self.places)
        return f"{places}\n    {self.begins}"


Reasons = dict[tuple[frozenset[str], str], str]


def main(argv: list[str] | None = None) -> int:
    """List copies; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit code 1 unless copies and reasons agree")
    parsed = parser.parse_args(argv)
    copies, reasons = find_copies(ROOT, FOLDERS), read_reasons(REASONS)
    if not parsed.check:
        print("\n".join(f"{copy}\n    {reasons.get(copy.key, 'NO REASON')}" for copy in copies))
        return 0
    complaints = complaints_of(copies, reasons)
    print("\n".join(complaints) or f"{len(copies)} copies, each with a reason")
    return 1 if complaints else 0


def complaints_of(copies: Iterable[Copy], reasons: Mapping[tuple[frozenset[str], str], str]) -> list[str]:
    """Return what is wrong: copies without a reason, and reasons without a copy."""
    known = {copy.key: copy for copy in copies}
    new = [f"written twice: {copy}" for key, copy in known.items() if key not in reasons]
    gone = [
        f"{REASONS.name} has a reason for a copy that is gone: {sorted(files)}, {begins!r}"
        for files, begins in reasons
        if (files, begins) not in known
    ]
    return new + gone


def read_reasons(path: Path) -> Reasons:
    """Return the reasons for copies that may stay."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))["kept"]
    return {(frozenset(kept["files"]), kept["begins"]): kept["reason"] for kept in listed}


def find_copies(root: Path, folders: Iterable[str]) -> list[Copy]:
    """Return all that is written twice in the Python files of ``folders``."""
    files = files_of(root, folders)
    return [*equal_blocks(root, files), *equal_functions(root, files)]


def files_of(root: Path, folders: Iterable[str]) -> list[Path]:
    """Return the Python files of ``folders``, relative to ``root``."""
    return sorted(path.relative_to(root) for folder in folders for path in (root / folder).rglob("*.py"))


# ---- blocks of lines -------------------------------------------------------------------------------


def equal_blocks(root: Path, files: Iterable[Path]) -> Iterator[Copy]:
    """Yield the blocks that symilar finds, the longest first."""
    program = "from pylint import run_symilar; run_symilar()"
    options = [f"--duplicates={MIN_LINES - 1}", *IGNORED]  # it reports blocks of more lines
    command = [sys.executable, "-c", program, *options, *map(str, files)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"symilar failed, which pylint brings (extra `dev`): {done.stderr.strip()}")
    for block in BLOCK.finditer(done.stdout):
        places = [Place(file, int(first) + 1) for file, first, _ in PLACE.findall(block[1])]
        begins = next((line.strip() for line in block[2].splitlines() if line.strip()), "")
        yield Copy(tuple(places), begins)


# ---- functions -------------------------------------------------------------------------------------


def equal_functions(root: Path, files: Iterable[Path]) -> Iterator[Copy]:
    """Yield the functions whose bodies are equal but for names."""
    found: dict[str, list[tuple[Place, str]]] = defaultdict(list)
    for file in files:
        for node in ast.walk(ast.parse((root / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (body := body_of(node)):
                found[body].append((Place(file.as_posix(), node.lineno), node.name))
    for alike in found.values():
        if len(alike) > 1:
            yield Copy(tuple(place for place, _ in alike), ", ".join(sorted({name for _, name in alike})))


def body_of(function: ast.FunctionDef) -> str:
    """Return the body as text with numbers for names, without the docstring; nothing if it is short."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if sum(1 for statement in statements for _ in ast.walk(statement)) < MIN_NODES:
        return ""
    numbers = {argument.arg: f"{i}" for i, argument in enumerate(arguments_of(function))}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                node.id = numbers.setdefault(node.id, f"{len(numbers)}")
    return "\n".join(map(ast.dump, statements))


def arguments_of(function: ast.FunctionDef) -> list[ast.arg]:
    """Return all named arguments."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


if __name__ == "__main__":
    sys.exit(main())
