#!/usr/bin/env python3
"""Looks into the wheel below `build/checks`: nothing is missing, nothing too much, and it is small."""

import re
import zipfile

from environments import ROOT, built_wheel

LARGEST = 4 * 10**6
"""Bytes of the wheel at most."""


def main() -> None:
    """Print how many files the wheel has; raise SystemExit where it is not what it should be."""
    wheel = built_wheel()
    names = zipfile.ZipFile(wheel).namelist()
    home = re.compile(r"(territorial|rllib_adapters|territorial_env-[^/]*\.dist-info)/")
    litter = re.compile(r"__pycache__|\.py[co]$|\.nb[ci]$|(^|/)tests?/|(^|/)\.")
    unwanted = [name for name in names if not home.match(name) or litter.search(name)]
    wanted = {
        f"{package}/{name}"
        for package in ("territorial", "rllib_adapters")
        for name in ("__init__.py", "py.typed")
    }
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "territorial/render/page").iterdir()}
    missing = sorted(wanted - set(names))
    size = wheel.stat().st_size
    if unwanted or missing or size > LARGEST or not any(name.endswith("licenses/LICENSE") for name in names):
        raise SystemExit(
            f"the wheel of {size:,} bytes has {unwanted} too much, and lacks {missing} or the licence"
        )
    print(f"{len(names)} files in {size:,} bytes, nothing missing, nothing unwanted")


if __name__ == "__main__":
    main()
