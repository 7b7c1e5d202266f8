"""The machine, revision and versions that a measurement belongs to."""

import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from territorial.constants import __version__
from territorial.files.cores import usable_cores

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ("territorial", "rllib_adapters", "benchmarks", "examples")
"""What a measurement runs."""
PACKAGES = ("numpy", "numba", "llvmlite", "gymnasium", "pettingzoo", "pillow", "torch", "ray")


def machine() -> dict[str, Any]:
    """Return processor, cores and operating system."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "system": platform.platform(),
        "architecture": platform.machine(),
    }


def revision() -> dict[str, Any] | None:
    """Return the commit that runs, its day, and if its source is unchanged; None outside a git checkout."""
    try:
        git = "git", "-C", str(ROOT)
        # Beside an installed package there may be somebody else's repository, which does not track it.
        _printed(*git, "ls-files", "--error-unmatch", "territorial/cli/machine.py")
        commit, date = _printed(*git, "show", "--no-patch", "--format=%H %cs", "HEAD").split()
        changed = _printed(*git, "status", "--porcelain", "--", *SOURCE)
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "date": date, "clean": not changed}


def provenance() -> dict[str, Any]:
    """Return the code and the machine that a result is of, as values that JSON has."""
    return {"revision": revision(), "versions": versions(), "machine": machine()}


def _printed(*command: str) -> str:
    """Return what a command prints; OSError or CalledProcessError if it fails."""
    return subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True).strip()


def versions() -> dict[str, str]:
    """Return the versions of this package, of Python, and of the installed ones of PACKAGES."""
    found = {name: [*importlib.metadata.distributions(name=name)] for name in PACKAGES}
    return {
        "territorial-env": __version__,
        "python": platform.python_version(),
        **{name: here[0].version for name, here in found.items() if here},
    }


def cpu_model() -> str:
    """Return the name of the processor."""
    try:
        if sys.platform == "darwin":
            return _printed("sysctl", "-n", "machdep.cpu.brand_string")
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, subprocess.CalledProcessError, StopIteration):
        return platform.processor() or platform.machine()
