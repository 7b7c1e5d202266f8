"""A snapshot that takes the place of another one: one of the two is there, wherever it is stopped."""

import os
import subprocess
import sys

import numpy as np
import pytest

from territorial.league import SnapshotStore
from tests.files.test_atomic import posix
from tests.league.support import manifest

KILLED = """
import itertools, os, sys
from tests.league.test_replaced_snapshots import put

def killed_at(last):
    calls = itertools.count(1)
    def counted(function):
        def call(*args, **kwargs):
            if next(calls) == last:
                os._exit(9)  # as if the process were killed: nothing is cleaned up
            return function(*args, **kwargs)
        return call
    for name in ("mkdir", "rename", "fsync", "rmdir", "unlink", "open"):
        setattr(os, name, counted(getattr(os, name)))

for last in itertools.count(1):
    folder = f"{sys.argv[1]}/{last}"
    put(folder, 1)
    child = os.fork()
    if not child:
        killed_at(last)
        put(folder, 2)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, flush=True)
    if code != 9:
        break
"""


def put(folder, value):
    """Add the snapshot "last" to a store, in place of an earlier one."""
    weights = {"w": np.full(100, value)}
    SnapshotStore(folder).add("last", weights, manifest(), replace=True)


def value_in(folder):
    return int(SnapshotStore(folder).load("last")["w"][0])


def test_the_new_one_takes_the_place_of_the_old_one(tmp_path):
    put(tmp_path, 1)
    put(tmp_path, 2)
    assert value_in(tmp_path) == 2
    assert sorted(os.listdir(tmp_path)) == [".lock", "last"]


def test_one_that_does_not_take_the_place_leaves_the_old_one(tmp_path, monkeypatch):
    put(tmp_path, 1)
    real = os.rename

    def failing(source, target, **kwargs):
        if str(source).endswith(".unfinished"):
            raise OSError(5, "Input/output error", str(source))
        return real(source, target, **kwargs)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="Input/output error"):
        put(tmp_path, 2)
    assert value_in(tmp_path) == 1


@posix
def test_a_process_killed_at_any_call_leaves_one_of_the_two(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    text = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    *killed, finished = map(int, text.split())
    assert (finished, set(killed)) == (0, {9})
    assert len(killed) >= 15
    found = set()
    for number in range(1, len(killed) + 1):
        SnapshotStore(tmp_path / str(number)).add("other", {}, manifest())  # the next change of the store
        found.add(value_in(tmp_path / str(number)))
    assert found == {1, 2}
