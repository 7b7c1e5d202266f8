"""A full disk is an error that names the file, whoever writes it."""

import errno
import os

import numpy as np
import pytest

from territorial import GameConfig, Setting, evaluate
from territorial.bots import make as bot
from territorial.cli.options import UsageError
from territorial.datasets import make
from territorial.datasets.dataset import shard_name, write_shard
from territorial.evaluation.results import ResultsError
from territorial.files import locks
from territorial.files.atomic import write_file
from territorial.files.locks import one_writer
from territorial.league import SnapshotStore
from territorial.replay import Decisions
from tests.files.test_atomic import FULL, MISSING, WRITERS, failing, no_room, posix
from tests.league.support import manifest

CONFIG = GameConfig(height=24, width=24, num_players=2, max_ticks=100)
ROWS = Decisions(*[np.zeros(100, np.int32)] * len(Decisions._fields))
SETTINGS = {"s": Setting(config=CONFIG, seats=["agent", "novice"])}

MORE_WRITERS = {
    "plain.txt": lambda path: write_file(path, bytes(1000)),
    "style.json": bot("banker").style.save,
    "store": lambda path: SnapshotStore(path).add("main", {"w": np.zeros(100)}, manifest()),
    "set": lambda path: make(path, CONFIG, ["banker"] * 2, games=1, processes=1),
    shard_name(0): lambda path: write_shard(path.parent, 0, 0, [ROWS]),
    "trials.jsonl": lambda path: evaluate(["banker"], SETTINGS, 1, out=path, processes=1, progress=False),
}


@posix
@pytest.mark.parametrize("name", [name for name in (*WRITERS, *MORE_WRITERS) if name != "film.mp4"])
def test_a_file_for_which_there_is_no_room_is_named(name, tmp_path):
    """Without films that another program writes, which ends then and says nothing."""
    if name in MISSING:
        pytest.skip(f"{MISSING[name]} is not installed")
    path = tmp_path / name
    with pytest.raises((OSError, RuntimeError, UsageError, ResultsError)) as caught, no_room():
        (WRITERS | MORE_WRITERS)[name](path)
    assert "File too large" in str(caught.value)
    assert str(path) in str(caught.value)
    assert "->" not in str(caught.value)  # a second name, which rename has


@posix
@pytest.mark.parametrize("name", ["plain.txt", "store"])
def test_a_file_that_does_not_reach_the_disk_is_named(name, tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, failing("fsync", FULL):
        MORE_WRITERS[name](tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


@posix
def test_a_file_that_cannot_be_locked_is_named(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(locks, "_lock", fail)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
        one_writer(tmp_path / "lock").__enter__()
    assert caught.value.filename == str(tmp_path / "lock")
