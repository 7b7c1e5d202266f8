"""Checks that PyTorch and a tested Ray are installed, without importing them."""

import importlib.metadata
import os
import re
import warnings

OLDEST_RAY, NEWEST_RAY = (2, 55, 1), (2, 60)
"""The oldest and the newest release of Ray that are tested; pyproject.toml has the same."""

INSTALL = "pip install 'territorial-env[rllib]' (in the checkout: pip install '.[rllib]', or make league)"
ANY_RAY = "TERRITORIAL_ANY_RAY"
"""The environment variable that lets newer releases of Ray in, with a warning, if it is 1."""


def check_requirements() -> None:
    """Raise ImportError if torch or Ray is missing, or Ray is of an untested release."""
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
    if numbers[:2] <= NEWEST_RAY:
        return
    known = f"Ray {found} is newer than {_text(NEWEST_RAY)}, the newest release that this was tested with"
    if os.environ.get(ANY_RAY) != "1":
        wanted = f"ray[rllib]>={_text(OLDEST_RAY)},<{NEWEST_RAY[0]}.{NEWEST_RAY[1] + 1}"
        raise ImportError(
            f"{known}: pip install '{wanted}', or set {ANY_RAY}=1 to try it at your own risk", name="ray"
        )
    warnings.warn(known, stacklevel=3)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
