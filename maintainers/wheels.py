#!/usr/bin/env python3
"""Builds the sdist and the wheels that are published.

    python maintainers/machine_code.py all && python maintainers/wheels.py

A wheel for each system whose machine code is in the checkout comes with it, whatever the release of Python.
All are written to `dist`. The first command takes some minutes on four cores.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def systems() -> set[str]:
    """Return the systems of which the checkout has machine code; SystemExit if it is of other sources."""
    from territorial.jit.library import FOLDER, TABLE, library

    table = json.loads((FOLDER / TABLE).read_text())
    if stale := library().changed():
        raise SystemExit(f"make the machine code anew: that of {', '.join(stale)} is of other sources")
    return {"-".join(Path(name).stem.split("-")[:2]) for name in table["libraries"]} - {"web"}


def main() -> None:
    """Build them all."""
    build = [sys.executable, "-m", "build", "--outdir", str(ROOT / "dist"), str(ROOT)]
    found = sorted(systems())
    # Not from the sdist, as by default, in which the library of pages is not.
    subprocess.run([*build, "--sdist", "--wheel"], check=True, stdout=subprocess.DEVNULL)
    for system in found:
        variables = os.environ | {"TERRITORIAL_WHEEL": system}
        subprocess.run([*build, "--wheel"], check=True, stdout=subprocess.DEVNULL, env=variables)
    for path in sorted((ROOT / "dist").iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
