"""Checkpoints: whole or not at all, wherever the process is stopped and whatever the disk says."""

import errno
import hashlib
import json
import os
import sys

import pytest

from territorial.snapshots.checkpoints import CheckpointError, Checkpoints
from tests.league.support import killed_at_every_call


def fill_with(text):
    def fill(folder):
        (folder / "inner").mkdir()
        (folder / "weights").write_text(text * 1000)
        (folder / "inner" / "league").write_text(text * 10)

    return fill


def content(folder):
    return (folder / "weights").read_text()[0] + (folder / "inner" / "league").read_text()[0]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_newest_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path / "run", keep=2)
    assert checkpoints.latest() is None
    for step in (1, 5, 12):
        folder = checkpoints.write(step, fill_with(str(step % 10)))
    assert folder == checkpoints.latest() == tmp_path / "run" / "checkpoint-00000012"
    assert (checkpoints.steps(), content(folder)) == ([5, 12], "22")
    assert sorted(os.listdir(tmp_path / "run")) == ["checkpoint-00000005", "checkpoint-00000012"]
    with pytest.raises(FileExistsError, match="step 12"):
        checkpoints.write(12, fill_with("x"))


def begin(folder):
    Checkpoints(folder).write(1, fill_with("1"))


def change(folder):
    Checkpoints(folder, keep=1).write(2, fill_with("2"))


@pytest.mark.skipif(sys.platform == "win32", reason="counts calls of the system that Windows does not make")
def test_a_process_killed_at_any_call_leaves_the_last_complete_one(tmp_path):
    found = set()
    for number in range(1, killed_at_every_call("tests.league.test_checkpoints", tmp_path) + 2):
        checkpoints = Checkpoints(tmp_path / str(number))
        latest = checkpoints.latest()
        found.add(content(latest))
        assert content(latest) == latest.name[-1] * 2
        checkpoints.write(3, fill_with("3"))  # whatever was left behind is in nobody's way
        assert content(checkpoints.latest()) == "33"
    assert found == {"11", "22"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("when", ["filling", "sealing"])
def test_a_full_disk_is_said_and_leaves_the_one_before(tmp_path, monkeypatch, number, when):
    checkpoints = Checkpoints(tmp_path)
    first = checkpoints.write(1, fill_with("1"))
    before = files(tmp_path)

    def full(*_):
        raise OSError(number, os.strerror(number))

    def fill(folder):
        fill_with("2")(folder)
        if when == "filling":
            full()
        monkeypatch.setattr("os.fsync", full)

    with pytest.raises(
        CheckpointError, match=r"step 2 .* the disk is full; the last complete one is"
    ) as caught:
        checkpoints.write(2, fill)
    assert caught.value.errno == number
    assert (files(tmp_path), checkpoints.latest(), content(first)) == (before, first, "11")


def test_contents_list_all_files(tmp_path):
    folder = Checkpoints(tmp_path).write(1, fill_with("1"))
    digests = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("inner/league", "weights")
    }
    listed = {"inner/league": [10, digests["inner/league"]], "weights": [1000, digests["weights"]]}
    assert json.loads((folder / "contents.json").read_text()) == listed
