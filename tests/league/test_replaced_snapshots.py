"""A snapshot that takes the place of another one: one of the two is there, wherever it is stopped."""

import os

import numpy as np
import pytest

from territorial.league import SnapshotStore
from tests.files.test_atomic import posix
from tests.league.support import killed_at_every_call, manifest


def put(folder, value):
    """Add the snapshot "last" to a store, in place of an earlier one."""
    weights = {"w": np.full(100, value)}
    SnapshotStore(folder).add("last", weights, manifest(), replace=True)


def begin(folder):
    put(folder, 1)


def change(folder):
    put(folder, 2)


def value_in(folder):
    return int(SnapshotStore(folder).load("last")["w"][0])


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
    found = set()
    for number in range(1, killed_at_every_call("tests.league.test_replaced_snapshots", tmp_path) + 1):
        SnapshotStore(tmp_path / str(number)).add("other", {}, manifest())  # the next change of the store
        found.add(value_in(tmp_path / str(number)))
        assert sorted(os.listdir(tmp_path / str(number))) == [".lock", "last", "other"]
    assert found == {1, 2}
