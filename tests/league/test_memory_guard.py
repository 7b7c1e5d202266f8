"""A block of code is ended before it, and all that it started, hold more memory than they may."""

import itertools
import mmap
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pytest

from territorial.memory import measure as memory
from territorial.memory.guard import LONGEST_PAUSE, QUICKEST_PAUSE, RESERVE, SHORTEST_PAUSE, MemoryGuard
from territorial.memory.measure import PSS, Memory, ProcessMemory, measure, most_held, process_tree
from territorial.memory.plan import BudgetError

MB = 2**20
# Against hanging: nothing takes so long, however busy the machine is.
SECONDS = 300
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="only Linux tells what processes share"
)


def test_a_process_that_grows_is_stopped_before_the_limit_and_named(monkeypatch):
    """Of two processes, one holds 200 MB and takes 1 MB more with every sample."""
    levels = itertools.count(200 * MB, MB)

    def measured(pids):
        grows = next(levels)
        one, other = ProcessMemory(7, "grows", grows, grows), ProcessMemory(os.getpid(), "me", MB, MB)
        return Memory(PSS, (one, other))

    monkeypatch.setattr("territorial.memory.guard.most_held", lambda pids: next(levels) + MB)
    monkeypatch.setattr("territorial.memory.guard.measure", measured)
    stopped = []
    guard = MemoryGuard(220 * MB, on_limit=stopped.append)
    with pytest.raises(BudgetError) as caught, guard:
        time.sleep(SECONDS)
    lines = str(caught.value).splitlines()
    assert "the limit is 220 MB" in lines[0]
    assert [line.split()[:3] for line in lines[2:]] == [["grows", "7", "210"], ["me", "(this", "one)"]]
    assert ([found.held for found in stopped], guard.samples) == ([211 * MB], 9)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_samples_follow_each_other_the_faster_the_nearer_the_limit_is():
    growth = 100 * MB
    assert [MemoryGuard._pause(took, 0, 0.0) for took in (0.001, 1.0)] == [SHORTEST_PAUSE, LONGEST_PAUSE]
    pauses = [MemoryGuard._pause(0.001, left, growth) for left in (100 * MB, 10 * MB, 1)]
    assert pauses == [SHORTEST_PAUSE, 0.05, QUICKEST_PAUSE]


def test_growth_of_this_process_ends_the_block_that_grows():
    kept = []
    guard = MemoryGuard((measure().held + 16 * MB) * RESERVE // (RESERVE - 1))

    def grow():
        while len(kept) < 64:  # other memory of this process may come and go meanwhile
            kept.append(b"x" * MB)
            samples = guard.samples
            while guard.samples == samples:
                time.sleep(0.001)

    with pytest.raises(BudgetError, match="this one"), guard:
        grow()
    assert 0 < len(kept) < 64


SHARES = """
import mmap, sys
print(1, flush=True)
input()
shared, file = (open(path, "r+b") for path in sys.argv[1:])
parts = [mmap.mmap(one.fileno(), 0) for one in (shared, file)]
total = sum(part[i] for part in parts for i in range(0, len(part), 4096))
print(1, flush=True)
input()
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no files in memory alone")
def test_shared_memory_counts_once_and_files_do_not_count(tmp_path):
    """Four processes map 16 MB that they share, and a file of 16 MB: together they hold 16 MB, not 128."""
    on_disk = tmp_path / "file"
    on_disk.write_bytes(bytes(16 * MB))
    shared = os.memfd_create("territorial")
    os.write(shared, bytes(16 * MB))
    paths = (f"/proc/{os.getpid()}/fd/{shared}", str(on_disk))
    command = [sys.executable, "-S", "-c", SHARES, *paths]
    children = [subprocess.Popen(command, stdin=-1, stdout=-1, text=True) for _ in range(3)]
    for child in children:
        child.stdout.readline()
    before, most_before = measure().held, most_held(process_tree())
    mine = mmap.mmap(shared, 0)
    assert sum(mine[i] for i in range(0, len(mine), 4096)) == 0
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
    assert 8 * MB < measure().held - before < 32 * MB
    assert most_held(process_tree()) > most_before + 40 * MB
    with MemoryGuard((before + 32 * MB) * RESERVE // (RESERVE - 1)) as guard:
        while guard.samples < 2:
            time.sleep(0.02)
    for child in children:
        child.communicate("\n")
    mine.close()
    os.close(shared)


def test_an_interrupt_of_the_user_stays_one():
    with pytest.raises(KeyboardInterrupt), MemoryGuard(2**50):
        signal.raise_signal(signal.SIGINT)
    with MemoryGuard(0):
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_fails_near_the_limit_does_not_hide_that_the_limit_was_near():
    guard = MemoryGuard(1 * MB, on_limit=mock.Mock(side_effect=ProcessLookupError("no such runner")))
    with pytest.raises(BudgetError, match=r"the limit is 1\.00 MB") as caught, guard:
        time.sleep(SECONDS)
    assert isinstance(caught.value.__cause__, ProcessLookupError)


def test_a_signal_that_comes_as_the_block_ends_does_not_take_the_place_of_the_error(monkeypatch):
    monkeypatch.setattr("territorial.memory.guard._interrupt", lambda: None)
    guard = MemoryGuard(1 * MB)

    def end_as_the_signal_comes():
        while not guard._asked:
            time.sleep(0.01)
        join = guard._thread.join
        guard._thread.join = lambda: (signal.raise_signal(signal.SIGINT), join())

    with pytest.raises(BudgetError), guard:
        end_as_the_signal_comes()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_in_another_thread_fails_at_its_end():
    def work():
        with MemoryGuard(1 * MB) as guard:
            while not guard.samples:
                time.sleep(0.02)
            time.sleep(0.01)

    with ThreadPoolExecutor() as threads, pytest.raises(BudgetError):
        threads.submit(work).result()


def test_what_cannot_be_measured_is_said(monkeypatch):
    denied = mock.Mock(side_effect=PermissionError("the memory of process 1 may not be read"))
    monkeypatch.setattr("territorial.memory.guard.most_held", denied)
    with pytest.raises(PermissionError, match="process 1"), MemoryGuard(2**50):
        time.sleep(SECONDS)


def test_where_psutil_may_not_tell_uss_it_is_the_resident_set(monkeypatch):
    psutil = pytest.importorskip("psutil", reason="psutil is not installed")

    denied = mock.Mock(side_effect=psutil.AccessDenied())
    monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
    monkeypatch.setattr(memory, "_PROC", Path("/nowhere"))
    assert measure([os.getpid()]).total > 10 * MB
