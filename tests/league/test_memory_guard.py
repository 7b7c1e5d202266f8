"""A block of code is ended before it, and all that it started, hold more memory than they may."""

import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from territorial.memory import measure as memory
from territorial.memory.guard import MemoryGuard
from territorial.memory.measure import measure, most_held, process_tree
from territorial.memory.plan import BudgetError

MB = 2**20
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="only Linux tells what processes share"
)

GROWS = """
import time
kept = [b"x" * (200 * 2**20)]
for _ in range(400):
    kept.append(b"x" * 2**20)
    time.sleep(0.02)
time.sleep(60)
"""
"""A program that takes 200 MB at once, and then up to 50 MB a second: a busy machine samples late."""


def started(program, *arguments):
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdin=-1, stdout=-1, text=True)


def held():
    return measure().held


def guarded(guard, work):
    with guard:
        work()


def test_a_process_that_grows_is_stopped_before_the_limit_and_named():
    limit = held() + 300 * MB
    child = started(GROWS)
    guard = MemoryGuard(limit, on_limit=lambda _: child.kill())
    with pytest.raises(BudgetError) as caught:
        guarded(guard, lambda: child.wait(60))
    lines = str(caught.value).splitlines()
    assert "the limit is" in lines[0]
    assert any(f" {child.pid} " in line for line in lines)
    assert limit * 0.95 < guard._found.held <= limit
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_growth_of_this_process_ends_the_block_that_grows():
    kept = []

    def grow():
        while len(kept) < 300:
            kept.append(b"x" * MB)
            time.sleep(0.005)

    with pytest.raises(BudgetError, match="this one"):
        guarded(MemoryGuard(held() + 60 * MB), grow)
    assert 10 < len(kept) < 300  # other memory of this process may come and go meanwhile


SHARES = """
import mmap, sys
shared, file = (open(path, "r+b") for path in sys.argv[1:])
parts = [mmap.mmap(one.fileno(), 0) for one in (shared, file)]
total = sum(part[i] for part in parts for i in range(0, len(part), 4096))
print(1, flush=True)
input()
"""


def test_shared_memory_counts_once_and_files_do_not_count(tmp_path):
    """Three processes map 64 MB that they share, and a file of 64 MB: together they hold 64 MB, not 384."""
    on_disk = tmp_path / "file"
    on_disk.write_bytes(bytes(64 * MB))
    with open(f"/dev/shm/territorial-{os.getpid()}", "w+b") as shared:
        os.unlink(shared.name)
        shared.write(bytes(64 * MB))
        shared.flush()
        before = held()
        mine = mmap.mmap(shared.fileno(), 0)
        children = [
            started(SHARES, f"/proc/{os.getpid()}/fd/{shared.fileno()}", str(on_disk)) for _ in range(3)
        ]
        for child in children:
            assert child.stdout.readline()
        assert 60 * MB < held() - before < 64 * MB + 4 * 20 * MB
        assert most_held(process_tree()) > before + 192 * MB
        with MemoryGuard(before + 190 * MB) as guard:
            while guard.samples < 2:
                time.sleep(0.02)
        for child in children:
            child.communicate("\n")
        mine.close()


def test_an_interrupt_of_the_user_stays_one():
    with pytest.raises(KeyboardInterrupt):
        guarded(MemoryGuard(2**50), lambda: signal.raise_signal(signal.SIGINT))
    with MemoryGuard(0):
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_fails_near_the_limit_does_not_hide_that_the_limit_was_near():
    def fails(_):
        raise ProcessLookupError("no such runner")

    with pytest.raises(BudgetError, match=r"the limit is 1\.00 MB") as caught:
        guarded(MemoryGuard(1 * MB, on_limit=fails), lambda: time.sleep(30))
    assert isinstance(caught.value.__cause__, ProcessLookupError)


def test_a_signal_that_comes_as_the_block_ends_does_not_take_the_place_of_the_error(monkeypatch):
    monkeypatch.setattr("territorial.memory.guard._interrupt", lambda: None)
    guard = MemoryGuard(1 * MB)

    def end_as_the_signal_comes():
        while not guard._asked:
            time.sleep(0.01)
        join = guard._thread.join
        guard._thread.join = lambda: (signal.raise_signal(signal.SIGINT), join())

    with pytest.raises(BudgetError):
        guarded(guard, end_as_the_signal_comes)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_in_another_thread_fails_at_its_end():
    found = []

    def work():
        try:
            with MemoryGuard(1 * MB) as guard:
                while not guard.samples:
                    time.sleep(0.02)
                time.sleep(0.01)
        except BudgetError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(found) == 1


def test_what_cannot_be_measured_is_said(monkeypatch):
    def denied(pids):
        raise PermissionError("the memory of process 1 may not be read")

    monkeypatch.setattr("territorial.memory.guard.most_held", denied)
    with pytest.raises(PermissionError, match="process 1"):
        guarded(MemoryGuard(2**50), lambda: time.sleep(30))


def test_where_psutil_may_not_tell_uss_it_is_the_resident_set(monkeypatch):
    psutil = pytest.importorskip("psutil", reason="psutil is not installed")

    def denied(self):
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
    monkeypatch.setattr(memory, "_PROC", Path("/nowhere"))
    assert measure([os.getpid()]).total > 10 * MB
