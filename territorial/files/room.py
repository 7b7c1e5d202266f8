"""Free memory, and checks before large allocations."""

import math
import warnings
from pathlib import Path

from territorial.files.cores import groups

SHARE = 0.5  # of the free memory: while a step makes arrays, those of the last step are still there
# The files of a control group's limit and of what counts towards it, of both versions:
LIMITS = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}


def free_memory(process: Path = Path("/proc/self")) -> float:
    """Return the bytes that this process can still take; infinity where the system does not tell.

    Those of the machine, or fewer where a container has a limit. ``process``: as of ``usable_cores``.
    """
    try:
        lines = process.with_name("meminfo").read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux
        return math.inf
    available = (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    return min([*available, *map(_left, groups(process, "memory")), math.inf])


def _left(group: Path) -> float:
    """Return the bytes that a control group's limit leaves; infinity if it has none."""
    try:
        limit, used = next(pair for pair in LIMITS.items() if (group / pair[0]).exists())
        counted = (group / "memory.stat").read_text(encoding="ascii").splitlines()
        cache = next(int(line.split()[1]) for line in counted if line.startswith("inactive_file "))
        return int((group / limit).read_text(encoding="ascii")) - int((group / used).read_text()) + cache
    except (OSError, ValueError, StopIteration):  # the topmost group has no such file, and "max" is no number
        return math.inf


def check_room(what: str, nbytes: float, cure: str) -> None:
    """Warn if ``nbytes`` are more than a ``SHARE`` of the free memory; MemoryError if they are more than all.

    ``what`` take them, and ``cure`` is a sentence on what takes less.
    """
    free = free_memory()
    text = f"{what} take {nbytes / 1e6:,.0f} MB of memory, and {free / 1e6:,.0f} MB are free; {cure}"
    if nbytes > free:
        raise MemoryError(text)
    if nbytes > SHARE * free:
        warnings.warn(text, stacklevel=2)
