"""How many cores there are to use."""

import math
import os
from collections.abc import Iterator
from pathlib import Path


def usable_cores(process: Path = Path("/proc/self")) -> int:
    """Return how many cores this process can keep busy; that may change while it runs.

    `taskset` and sets of processors say on which it runs. Containers have a quota of processor time.
    ``process``: the folder in which Linux describes it.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([cores, *map(_quota, groups(process, "cpu"))])))


def groups(process: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the process's control groups for a controller, and of their parents.

    In a container, what is mounted may begin with its own group; then those above are not to be seen.
    """
    try:
        lines = os.fsdecode((process / "cgroup").read_bytes()).splitlines()
        mounts = os.fsdecode((process / "mountinfo").read_bytes()).splitlines()
    except OSError:  # not Linux
        return
    owned = (line.split(":", 2) for line in lines)
    paths = {name: path for _, names, path in owned for name in names.split(",")}
    for mount in mounts:
        root, point = mount.split()[3:5]
        kind, _, options = mount.partition(" - ")[2].split()[:3]
        hierarchy = {"cgroup": controller, "cgroup2": ""}.get(kind)
        if hierarchy in paths and (not hierarchy or hierarchy in options.split(",")):
            own = Path(paths[hierarchy])
            below = own.relative_to(root) if own.is_relative_to(root) else Path()
            yield from (Path(point, group) for group in (below, *below.parents))


def _quota(group: Path) -> float:
    """Return the whole cores that a control group's quota takes to be used up; infinity if it has none."""
    try:
        if (both := group / "cpu.max").exists():
            quota, period = both.read_text(encoding="ascii").split()
        else:
            files = (group / f"cpu.cfs_{name}_us" for name in ("quota", "period"))
            quota, period = (file.read_text(encoding="ascii") for file in files)
        return -(-int(quota) // int(period)) if int(quota) > 0 else math.inf
    except (OSError, ValueError):  # the topmost group has no such file, and "max" is no number
        return math.inf
