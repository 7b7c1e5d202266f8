"""Locks: what they leave in their files, on Windows too, and file systems that have none."""

import errno
import os
import pickle
import runpy
import socket
import sys
import tempfile
import types
from pathlib import Path
from unittest.mock import Mock
from urllib.error import URLError

import numpy as np
import pytest

from territorial import GameConfig, match
from territorial.evaluation.play import StoppedError
from territorial.evolution import EvolutionSettings, evolve
from territorial.files import locks
from territorial.files.atomic import naming, sync_folder
from territorial.files.locks import InUseError, locked, one_writer
from territorial.league import SnapshotStore
from tests.league.support import manifest


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
    told, again = (
        (type(one), str(one), one.filename, one.holder)
        for one in (caught.value, pickle.loads(pickle.dumps(caught.value)))
    )
    assert told == again


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
FEW = EvolutionSettings(
    config=SMALL.replace(num_players=4), population=6, games_per_style=1, style_seats=2, opponents=("novice",)
)
NUMBERS = [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS]


@pytest.fixture(params=NUMBERS, ids=errno.errorcode.get)
def without_locks(request, monkeypatch, tmp_path):
    """Let the file system of all but temporary files have no locks; return the folder of these."""
    machine, flock = tmp_path / "machine", fcntl.flock
    machine.mkdir()

    def lock(file, operation):
        if not any(os.path.samestat(os.fstat(file), one.stat()) for one in machine.iterdir()):
            raise OSError(request.param, os.strerror(request.param))
        return flock(file, operation)

    monkeypatch.setattr(tempfile, "tempdir", str(machine))
    monkeypatch.setattr(fcntl, "flock", lock)
    return machine


def test_a_second_writer_is_refused_and_told_who_writes(without_locks, tmp_path):
    for _ in range(2):
        with one_writer(tmp_path / "lock"), pytest.raises(InUseError) as caught:
            one_writer(tmp_path / "lock").__enter__()
    assert caught.value.holder == f"process {os.getpid()} on {socket.gethostname()}"
    with one_writer(tmp_path / "lock"), one_writer(tmp_path / "other"):
        assert len(list(without_locks.iterdir())) == 2


def test_all_that_needs_a_lock_works_without(without_locks, tmp_path):
    for games in (1, 2):
        ranking = match(["banker"], SMALL, games, out=tmp_path / "m", processes=1, progress=False)
        assert len(ranking.records) == games
    SnapshotStore(tmp_path / "store").add("main", {"w": np.zeros(3)}, manifest())
    evolve(tmp_path / "e", FEW, generations=1)
    with one_writer(tmp_path / "m.lock"), pytest.raises(InUseError, match=r"m\.lock"):
        match(["banker"], SMALL, 3, out=tmp_path / "m", processes=1, progress=False)


def test_what_cannot_be_locked_anywhere_is_an_error_that_names_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    with pytest.raises(OSError, match=r"No locks available: '.*territorial-\w+\.lock'"):
        locked(tmp_path / "lock").__enter__()


def test_a_file_system_may_not_write_folders_to_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.EINVAL, "Invalid argument")))
    sync_folder(tmp_path)
