"""One writer a store: a second one is refused, and the place of one that was killed is free."""

import subprocess
import sys
from pathlib import Path

import pytest

from territorial.files import locks as locking
from territorial.league import SnapshotStore, StoreInUseError
from territorial.snapshots.store import WRITER, only_writer

HOLDS = """
import runpy, sys, time
from pathlib import Path

with runpy.run_path(sys.argv[1])["locked"](Path(sys.argv[2])):
    print("holds", flush=True)
    time.sleep(600)
"""


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path):
    with only_writer(tmp_path):
        with pytest.raises(StoreInUseError, match=r"another run writes to the store .*\(process \d+ on "):
            only_writer(tmp_path).__enter__()
        assert SnapshotStore(tmp_path).names() == []
    with only_writer(tmp_path):
        pass


def test_the_store_of_a_writer_that_was_killed_is_free(tmp_path):
    command = [sys.executable, "-c", HOLDS, locking.__file__, str(Path(tmp_path / WRITER))]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline().strip() == b"holds"
        with pytest.raises(StoreInUseError):
            only_writer(tmp_path).__enter__()
        other.kill()
        other.wait()
        with only_writer(tmp_path):
            assert (tmp_path / WRITER).is_file()


def test_a_store_within_a_store_is_one_of_its_own(tmp_path):
    inner = SnapshotStore(tmp_path).within("trial-1")
    assert inner.path == tmp_path / "trial-1"
    with only_writer(tmp_path), only_writer(inner.path):
        assert SnapshotStore(tmp_path).names() == []
