"""Memory of processes: what they share is counted once, and a snapshot is shared by all that load it."""

import ctypes
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from territorial.league import SnapshotStore
from territorial.memory import measure as memory
from territorial.memory.measure import PSS, USS, measure, process_tree
from tests.league.support import SPAWN, manifest

MB = 2**20
has_pss = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="only Linux tells what processes share"
)


measurable = pytest.mark.skipif(
    not Path("/proc/self").exists() and find_spec("psutil") is None, reason="needs Linux or psutil"
)


GROWS = """
print(1, flush=True)
input()
ballast = b"1" * (16 * 2**20)
print(1, flush=True)
input()
"""


@measurable
def test_memory_that_is_written_to_is_counted():
    with subprocess.Popen([sys.executable, "-S", "-c", GROWS], stdin=-1, stdout=-1, text=True) as child:
        child.stdout.readline()
        before = measure([child.pid])
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        after = measure([child.pid])
        child.communicate("\n")
    assert after.measure == before.measure in (PSS, USS)
    assert 8 * MB < after.total - before.total < 32 * MB
    assert 8 * MB < after.private - before.private < 32 * MB


CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-Sc", "print(1, flush=True); input()"], stdin=-1, stdout=-1)
child.stdout.readline()
print(child.pid, flush=True)
input()
child.communicate(b"\\n")
"""


@measurable
def test_the_tree_has_children_and_their_children():
    child = subprocess.Popen([sys.executable, "-Sc", CHILD], stdin=-1, stdout=-1, text=True)
    grandchild = int(child.stdout.readline())
    tree = process_tree()
    assert tree[0] == os.getpid()
    assert {child.pid, grandchild} <= set(tree)
    assert process_tree(child.pid) == [child.pid, grandchild]
    assert {child.pid, grandchild} <= {process.pid for process in measure().processes}
    child.communicate("\n")
    assert measure([child.pid, grandchild]).processes == ()


def test_without_proc_psutil_measures(monkeypatch):
    pytest.importorskip("psutil", reason="psutil is not installed")
    monkeypatch.setattr(memory, "_PROC", Path("/nowhere"))
    found = measure()
    assert (found.measure, found.processes[0].pid) == (USS, os.getpid())
    assert found.total == found.private > 10 * MB
    assert measure([2**22 - 1]).processes == ()


def test_without_either_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(memory, "_PROC", Path("/nowhere"))
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(RuntimeError, match="without psutil: install it"):
        measure()


# ---- snapshots are shared ----------------------------------------------------------------------------


def _load_and_measure(path: Path, name: str, barrier, results) -> None:
    """Load a snapshot and read all of it; measure before, and while all others hold it too."""
    store = SnapshotStore(path)
    barrier.wait(300)  # what all processes share of Python counts the same before and after
    before = measure([os.getpid()])
    barrier.wait(300)
    total = sum(int(array.view(np.uint8).sum()) for array in store.load(name).values())
    barrier.wait(300)
    after = measure([os.getpid()])
    barrier.wait(300)
    results.put((total, after.private - before.private, after.total - before.total))


@has_pss
@pytest.mark.verify
def test_processes_that_load_a_snapshot_share_its_pages(tmp_path):
    number, size = 4, 20 * MB
    values = np.random.default_rng(0).integers(0, 256, size, np.uint8).view(np.float32)
    parts = dict(enumerate(np.split(values, 5)))
    store = SnapshotStore(tmp_path)
    store.add("main", {f"layer.{i}": part for i, part in parts.items()}, manifest())
    barrier, results = SPAWN.Barrier(number), SPAWN.SimpleQueue()
    arguments = (store.path, "main", barrier, results)
    children = [SPAWN.Process(target=_load_and_measure, args=arguments) for _ in range(number)]
    for child in children:
        child.start()
    found = [results.get() for _ in children]
    for child in children:
        child.join()
    assert [total for total, _, _ in found] == [int(values.view(np.uint8).sum())] * number
    assert max(private for _, private, _ in found) < size / 2
    # Counted once: all of them together take what the file has, and not that of each.
    assert size / 2 < sum(growth for _, _, growth in found) < 2 * size


# ---- free memory is given back to the system, where the C library can do that ----------------------


@pytest.mark.skipif(memory._malloc_trim() is None, reason="the C library is not glibc")
def test_glibc_is_asked_to_keep_nothing(monkeypatch):
    kept, trim = [], memory._malloc_trim()
    assert trim(0) in (0, 1)  # it can be called: 1 where something was given back
    monkeypatch.setattr(memory, "_malloc_trim", lambda: kept.append)
    assert memory.give_back()
    assert kept == [0]


def test_other_libraries_keep_what_they_keep(monkeypatch):
    def refuse(name):
        raise OSError(name)

    memory._malloc_trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    try:
        assert not memory.give_back()
    finally:
        memory._malloc_trim.cache_clear()
