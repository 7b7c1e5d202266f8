#!/usr/bin/env python3
"""Builds what is published: the sdist, a wheel for every system, and those with machine code.

    python maintainers/machine_code.py all && python maintainers/wheels.py
    python maintainers/wheels.py --folder build/wheels linux-x86_64

A wheel for each system whose machine code is in the checkout comes with it, whatever the release of Python;
or for those that are named. The first command takes some minutes on four cores.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def systems() -> set[str]:
    """Return the systems of which the checkout has machine code; SystemExit if it is of other sources."""
    from territorial.jit.library import FOLDER, TABLE
    from territorial.jit.sources import PACKAGE, SOURCES

    if not (FOLDER / TABLE).exists():
        return set()
    table = json.loads((FOLDER / TABLE).read_text())
    digests = {file: SOURCES.digest(str(PACKAGE / file)) for file in table["kernels"]}
    if stale := [file for file, one in table["kernels"].items() if digests[file] != one["sources"]]:
        raise SystemExit(f"make the machine code anew: that of {', '.join(stale)} is of other sources")
    return {"-".join(Path(name).stem.split("-")[:2]) for name in table["libraries"]}


def main() -> None:
    """Build them all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help="such as linux-x86_64; default: all")
    parser.add_argument("--folder", default=ROOT / "dist", type=Path, help="default: %(default)s")
    parsed = parser.parse_args()
    found = systems()
    build = [sys.executable, "-m", "build", "--outdir", parsed.folder, ROOT]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    for system in sorted(found.intersection(parsed.systems or found)):
        variables = os.environ | {"TERRITORIAL_WHEEL": system}
        subprocess.run([*build, "--wheel"], check=True, stdout=subprocess.DEVNULL, env=variables)
    for path in sorted(parsed.folder.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
