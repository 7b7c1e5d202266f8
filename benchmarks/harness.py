"""What all benchmarks share: their options, their progress, and the stamp that every result carries.

``write`` is the one way to a file in benchmarks/results. It puts in front what was measured: the revision,
whether its source was unchanged, the machine and the versions. ``benchmarks.check_goals`` reads them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from territorial.cli.machine import machine, revision, versions
from territorial.files.atomic import write_file

RESULTS = Path(__file__).parent / "results"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
STDOUT = "-"


def add_json(
    parser: argparse.ArgumentParser, default: Path | None = None, shown: str = "%(default)s"
) -> None:
    """Add ``--json``; ``shown`` says what the default is where that depends on other options."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=Path,
        default=default,
        help=f"write the result as JSON to FILE (default {shown})",
    )


def add_rounds(parser: argparse.ArgumentParser, default: int, whole: Callable[[str], int] = int) -> None:
    """Add ``--rounds``, which ``whole`` reads."""
    parser.add_argument(
        "--rounds",
        type=whole,
        default=default,
        help="times that each case is measured (default %(default)s)",
    )


def add_quick(parser: argparse.ArgumentParser) -> None:
    """Add ``--quick``."""
    parser.add_argument(
        "--quick", action="store_true", help="take a short look: fewer games, steps and rounds"
    )


def tell(what: str) -> None:
    """Show on stderr what is being measured, in place of what was; an empty text clears the line."""
    print(f"\r{what:60}", end="\r", file=sys.stderr, flush=True)


def stamp() -> dict[str, Any]:
    """Return what is measured: revision, machine and versions."""
    return {"revision": revision(), "machine": machine(), "versions": versions()}


def example(name: str) -> Any:
    """Return examples/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def versions_of(*packages: str) -> dict[str, str]:
    """Return the versions of packages that the core does not need."""
    return {name: _version_of(name) for name in packages}


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def write(path: Path | str, result: Mapping[str, Any]) -> None:
    """Write ``result`` behind its stamp to the file ``path``, whose folder is made; ``-`` is stdout.

    What ``result`` says of machine and versions itself, such as a GPU, is added to the stamp.
    """
    about = stamp()
    for key in ("machine", "versions"):
        about[key] |= result.get(key, {})
    text = json.dumps({**about, **result, **about}, indent=2) + "\n"
    if str(path) == STDOUT:
        sys.stdout.write(text)
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text.encode())
