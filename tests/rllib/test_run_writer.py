"""A run that begins in the folder of another one that is at work is refused, and removes nothing there."""

import pytest

from rllib_adapters.train.options import Training
from rllib_adapters.train.run import SNAPSHOTS, Run
from territorial.league import SnapshotStore, StoreInUseError
from territorial.league.writer import only_writer
from tests.league.support import manifest, tensors


def test_two_runs_that_begin_in_one_folder_leave_the_snapshots_of_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(Run, "_check_budget", lambda *_: pytest.fail("the second run goes on"))
    store = SnapshotStore(tmp_path / SNAPSHOTS)
    store.add("main-1", tensors(), manifest())
    with only_writer(store.path), pytest.raises(StoreInUseError, match="another run writes to the store"):
        Run(tmp_path, Training())
    assert store.names() == ["main-1"]
