"""A full disk is an error that names the file; a link in the place of a file with a fixed name is refused."""

import errno
import os
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from territorial import GameConfig, Setting, evaluate
from territorial.bots import make as bot
from territorial.cli.options import UsageError
from territorial.datasets import make
from territorial.datasets.dataset import write_shard
from territorial.datasets.manifest import shard_name
from territorial.evaluation.charts import save_plots
from territorial.evaluation.record import ResultsError
from territorial.evolution import Evolution, EvolutionSettings
from territorial.evolution.evolve import write
from territorial.files import locks
from territorial.files.atomic import write_file
from territorial.files.locks import one_writer
from territorial.league import SnapshotStore
from territorial.replay import Decisions
from territorial.snapshots.store import only_writer
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
    shard_name(0): lambda path: write_shard(path, 0, [ROWS]),
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
    monkeypatch.setattr(locks, "_lock", Mock(side_effect=OSError(errno.EIO, os.strerror(errno.EIO))))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
        one_writer(tmp_path / "lock").__enter__()
    assert caught.value.filename == str(tmp_path / "lock")


FOUR_SEATS = GameConfig(height=24, width=24, num_players=4, max_ticks=100)
EVOLUTION = Evolution.begun(EvolutionSettings(config=FOUR_SEATS, population=12, games_per_style=1))
ROW = Decisions(*[np.zeros(1, np.int32)] * len(Decisions._fields))
PICTURE = SimpleNamespace(savefig=lambda draft, **_: draft.write_bytes(b"picture"))
PLOTS = SimpleNamespace(close=lambda _: None)


def begun(folder):
    make(folder, FOUR_SEATS, ["banker"] * 4, games=1, play=lambda *_: ())


def held(context):
    with context:
        pass


WRITERS_OF_FIXED_NAMES = {
    "of a store": (".writer", lambda folder: held(only_writer(folder))),
    "in a store": (".lock", lambda folder: held(SnapshotStore(folder)._changing())),
    "of an evolution": ("lock", lambda folder: held(one_writer(folder / "lock"))),
    "evolution": ("evolution.json", lambda folder: write(folder, EVOLUTION)),
    "style": ("style.json", lambda folder: write(folder, EVOLUTION)),
    "of a data set": (".writer", begun),
    "manifest": ("manifest.json", begun),
    "shard": (shard_name(0), lambda folder: write_shard(folder / shard_name(0), 0, [ROW])),
    "plot": ("land.png", lambda folder: save_plots(PLOTS, {"land": lambda: PICTURE}, folder)),
}


@posix
@pytest.mark.parametrize("writer", WRITERS_OF_FIXED_NAMES)
def test_a_link_in_the_place_of_a_file_with_a_fixed_name_is_refused(writer, tmp_path):
    name, writes = WRITERS_OF_FIXED_NAMES[writer]
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    writes(folder)
    (folder / name).rename(outside)
    before = outside.stat().st_ino, outside.read_bytes()
    (folder / name).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link; remove it") as caught:
        writes(folder)
    assert caught.value.filename == str(folder / name)
    assert (outside.stat().st_ino, outside.read_bytes()) == before
