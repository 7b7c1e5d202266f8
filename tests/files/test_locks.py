"""Locks: what they leave in their files, on Windows too, and file systems that have none."""

import errno
import os
import pickle
import runpy
import signal
import socket
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock
from urllib.error import URLError

import numpy as np
import pytest

from territorial import GameConfig, match
from territorial.evaluation.workers import StoppedError
from territorial.files import locks
from territorial.files.atomic import naming, sync_folder
from territorial.files.locks import InUseError, locked, one_writer
from territorial.league import SnapshotStore
from tests.league.support import manifest

SMALL = GameConfig(height=24, width=24, num_players=2, max_ticks=60)


@pytest.fixture
def on_windows(monkeypatch):
    """Return the module as it is on Windows, whose locks are stood in for."""
    held = set()

    def locking(file, mode, nbytes):
        place = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        assert nbytes == 1
        if mode == "unlock":
            return held.remove(place)
        if place in held:
            raise PermissionError(errno.EACCES, "Permission denied")
        return held.add(place)

    fake = types.SimpleNamespace(locking=locking, LK_LOCK="wait", LK_NBLCK="lock", LK_UNLCK="unlock")
    with monkeypatch.context() as windows:
        windows.setitem(sys.modules, "msvcrt", fake)
        windows.setattr(sys, "platform", "win32")
        return types.SimpleNamespace(**runpy.run_path(locks.__file__))


def test_a_lock_on_windows_says_who_has_it_and_stays_small(on_windows, tmp_path):
    file = tmp_path / "lock"
    for _ in range(2):
        with on_windows.one_writer(file):
            assert file.stat().st_size < 1000
            assert file.read_text().startswith(f"process {os.getpid()} on ")
            with pytest.raises(on_windows.InUseError, match=f"process {os.getpid()} on "):
                on_windows.one_writer(file).__enter__()


def test_who_has_a_lock_is_told_to_other_processes(tmp_path):
    with one_writer(tmp_path / "lock"), pytest.raises(InUseError) as caught:
        one_writer(tmp_path / "lock").__enter__()
    reported, again = (
        (type(one), str(one), one.filename, one.holder)
        for one in (caught.value, pickle.loads(pickle.dumps(caught.value)))
    )
    assert reported == again


def test_a_contest_that_has_stopped_goes_to_other_processes_with_its_ranking():
    ranking = match(["banker", "turtle"], SMALL, 1, processes=1, progress=False)
    again = pickle.loads(pickle.dumps(StoppedError("why", ranking)))
    assert (str(again), again.result.records) == ("why", ranking.records)


def test_an_export_that_fails_goes_to_other_processes_with_its_report():
    pytest.importorskip("torch", reason="PyTorch is not installed: the extra `torch` has it")
    from territorial.nets.pair_export import ExportError, ExportReport

    report = ExportReport(8, 0.5, 0.25, 2.0, 1.0, 100)
    again = pickle.loads(pickle.dumps(ExportError("why", report)))
    assert (str(again), again.report) == ("why", report)


@pytest.mark.parametrize(
    ("error", "kind", "number"),
    [
        (URLError("no host"), OSError, errno.EIO),
        (FileNotFoundError(errno.ENOENT, "gone"), FileNotFoundError, errno.ENOENT),
    ],
)
def test_every_error_of_a_file_can_be_named(error, kind, number):
    with pytest.raises(OSError) as caught, naming(Path("here")):
        raise error
    assert type(caught.value) is kind
    assert (caught.value.errno, caught.value.filename) == (number, "here")


fcntl = pytest.importorskip("fcntl", reason="Windows has locks of another kind")


@pytest.fixture(params=[errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS], ids=errno.errorcode.get)
def without_locks(request, monkeypatch):
    refusal = OSError(request.param, os.strerror(request.param))
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=refusal))


def test_a_second_writer_is_refused_and_told_the_file(without_locks, tmp_path):
    file = tmp_path / "lock.held"
    for _ in range(2):
        with one_writer(tmp_path / "lock"):
            assert file.read_text().startswith(f"process {os.getpid()} on {socket.gethostname()}\n")
            with pytest.raises(InUseError) as caught:
                one_writer(tmp_path / "lock").__enter__()
        assert not file.exists()
    assert f"process {os.getpid()} on {socket.gethostname()}" in caught.value.holder
    assert caught.value.holder.endswith(f"if it is gone, remove {str(file)!r}")


def test_all_that_needs_a_lock_works_without(without_locks, tmp_path):
    for games in (1, 2):
        ranking = match(["banker"], SMALL, games, out=tmp_path / "m", processes=1, progress=False)
        assert len(ranking.records) == games
    SnapshotStore(tmp_path / "store").add("main", {"w": np.zeros(3)}, manifest())
    assert not list(tmp_path.rglob("*.held"))
    with one_writer(tmp_path / "m.lock"), pytest.raises(InUseError, match=r"remove '.*m\.lock\.held'"):
        match(["banker"], SMALL, 3, out=tmp_path / "m", processes=1, progress=False)


HOLDER = """
import fcntl, sys, time
from pathlib import Path
from territorial.files.locks import one_writer

def refuse(*_):
    raise OSError(int(sys.argv[2]), "no locks")

fcntl.flock = refuse
with one_writer(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(1000)
"""


def test_what_a_killed_process_left_is_taken_over(without_locks, tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock"), str(errno.ENOLCK)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(InUseError, match=f"process {process.pid} on "):
        one_writer(tmp_path / "lock").__enter__()
    process.send_signal(signal.SIGKILL)
    with locked(tmp_path / "lock"):  # waits until it has ended
        pass
    process.communicate()


@pytest.fixture
def held(without_locks, tmp_path):
    """Return a function that writes what a process may have left, with changes."""

    def write(old, new):
        file = tmp_path / "lock.held"
        with locked(tmp_path / "lock"):
            text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        return file

    return write


def test_another_process_with_the_number_of_one_that_has_ended_is_not_it(held, tmp_path):
    if not (began := locks._beginning(os.getpid())):
        pytest.skip("this system does not say when a process began")
    held(began, "1")
    with one_writer(tmp_path / "lock"):
        pass


@pytest.mark.parametrize("old", [f" on {socket.gethostname()}", "\n"], ids=["a host", "nothing yet"])
def test_a_process_that_cannot_be_looked_for_keeps_it(held, tmp_path, monkeypatch, old):
    monkeypatch.setattr(locks, "PATIENCE_S", 0)
    file = held(old, " on another")
    with pytest.raises(InUseError, match=r"remove '.*lock\.held'"):
        one_writer(tmp_path / "lock").__enter__()
    with pytest.raises(BlockingIOError, match=r"if it is gone, remove this file: '.*lock\.held'"):
        locked(tmp_path / "lock").__enter__()
    file.unlink()
    with locked(tmp_path / "lock"):
        pass


def test_a_file_that_could_not_be_written_keeps_nobody_out(without_locks, tmp_path, monkeypatch):
    with monkeypatch.context() as failing:
        failing.setattr(locks, "this_process", lambda: "\ud800")  # cannot be encoded
        with pytest.raises(UnicodeError):
            locked(tmp_path / "lock").__enter__()
    with one_writer(tmp_path / "lock"):
        pass


def test_threads_wait_for_each_other(without_locks, tmp_path):
    inside: list[int] = []
    entered: list[bool] = []

    def enter():
        with locked(tmp_path / "lock"):
            inside.append(1)
            time.sleep(0.01)
            entered.append(len(inside) == 1)
            inside.pop()

    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(enter)
    assert entered == [True] * 4
    assert not list(tmp_path.glob("*.held"))


def test_a_file_system_may_not_write_folders_to_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.EINVAL, "Invalid argument")))
    sync_folder(tmp_path)
