"""Locks: what they leave in their files, on Windows too, and file systems that have none."""

import errno
import os
import pickle
import runpy
import sys
import threading
import time
import types
from pathlib import Path
from unittest.mock import Mock
from urllib.error import URLError

import pytest

from territorial import GameConfig, match
from territorial.evaluation.workers import StoppedError
from territorial.files import locks
from territorial.files.atomic import naming, sync_folder
from territorial.files.locks import InUseError, locked, one_writer


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
    config = GameConfig(height=24, width=24, num_players=2, max_ticks=100)
    ranking = match(["banker", "turtle"], config, 1, processes=1, progress=False)
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
SMALL = GameConfig(height=24, width=24, num_players=2, max_ticks=60)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS], ids=errno.errorcode.get)
def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch, number):
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(number, os.strerror(number))))
    with pytest.raises(OSError, match="this file system has no locks; choose a folder on another") as caught:
        one_writer(tmp_path / "lock").__enter__()
    assert caught.value.filename == str(tmp_path / "lock")


def test_threads_wait_for_each_other(tmp_path):
    inside: list[int] = []
    entered: list[bool] = []

    def enter():
        with locked(tmp_path / "lock"):
            inside.append(1)
            time.sleep(0.01)
            entered.append(len(inside) == 1)
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered == [True] * 4


def test_a_file_system_may_not_write_folders_to_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.EINVAL, "Invalid argument")))
    sync_folder(tmp_path)
