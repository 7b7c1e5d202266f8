"""The processor time of processes, and what belongs to a node of a cluster on this machine."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from territorial.memory.measure import process_tree

PROC = Path("/proc")


def processor_seconds(pids: Iterable[int]) -> dict[int, float]:
    """Return how long each process has computed, by its number; those that have ended are left out.

    It is read from /proc on Linux, and by psutil elsewhere.
    """
    read = _from_proc if PROC.is_dir() else _from_psutil
    found = ((pid, read(pid)) for pid in pids)
    return {pid: seconds for pid, seconds in found if seconds is not None}


def spent(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """Return how long the processes that are in both computed between the two."""
    return sum(seconds - before[pid] for pid, seconds in after.items() if pid in before)


def pids_of_node(node: Any) -> set[int]:
    """Return the processes of a node of ``ray.cluster_utils.Cluster``, those of its workers too."""
    roots = [info.process.pid for infos in node.all_processes.values() for info in infos]
    return {pid for root in roots for pid in process_tree(root)}


def _from_proc(pid: int) -> float | None:
    try:
        # The name, in brackets, may hold anything; after it user and system time are the 12th and 13th.
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _from_psutil(pid: int) -> float | None:
    psutil = importlib.import_module("psutil")
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return float(times.user + times.system)
