"""Whether what this package needs is installed, found out without importing it."""

from __future__ import annotations

import importlib.metadata
import re
import warnings

OLDEST_RAY, NEWEST_RAY = (2, 55, 1), (2, 60)
"""The oldest release of Ray that works, and the newest that was tried."""

INSTALL = "pip install 'territorial-env[rllib]'"


def check_requirements() -> None:
    """Raise ImportError if something is missing or too old; warn of a Ray that nobody has tried."""
    for name in ("torch", "ray"):
        if _version(name) is None:
            raise ImportError(f"rllib_adapters needs {name}, which is not installed: {INSTALL}", name=name)
    found = _version("ray") or ""
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:3])
    if numbers < OLDEST_RAY:
        raise ImportError(
            f"rllib_adapters needs Ray {_text(OLDEST_RAY)} or newer, and {found} is installed: {INSTALL}",
            name="ray",
        )
    if numbers[:2] > NEWEST_RAY:
        warnings.warn(
            f"Ray {found} is newer than {_text(NEWEST_RAY)}, the newest that rllib_adapters was tried with",
            stacklevel=3,
        )


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
