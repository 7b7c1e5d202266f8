"""Checkpoints: whole or not at all, wherever the process is stopped; of damaged ones the one before."""

import errno
import hashlib
import json
import os
import re
import sys

import pytest

from territorial.league.checkpoints import CheckpointError, Checkpoints, DamagedCheckpointsError
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


DAMAGES = {
    "a bit": lambda folder: (folder / "weights").write_bytes(b"3" * 999 + b"4"),
    "a file that is gone": lambda folder: (folder / "inner" / "league").unlink(),
    "no contents": lambda folder: (folder / "contents.json").unlink(),
    "contents of nothing": lambda folder: (folder / "contents.json").write_text("{}"),
    "contents of something else": lambda folder: (folder / "contents.json").write_text('{"weights": "long"}'),
}


@pytest.fixture
def checkpoints(tmp_path):
    """Two checkpoints that somebody has written."""
    found = Checkpoints(tmp_path)
    for step in (2, 3):
        found.write(step, fill_with(str(step)))
    return Checkpoints(tmp_path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_one_before_a_damaged_one_is_taken_with_one_line(checkpoints, caplog, damage):
    DAMAGES[damage](checkpoints.at(3))
    assert (checkpoints.steps(), content(checkpoints.latest())) == ([2], "22")
    (record,) = caplog.records
    assert re.fullmatch(r".*checkpoint-00000003.*; checkpoint-00000002 is taken", record.getMessage())
    assert content(checkpoints.write(3, fill_with("5"))) == "55", "it is in nobody's way"


def test_without_any_that_is_complete_nothing_begins_again(checkpoints):
    for step in (2, 3):
        DAMAGES["a bit"](checkpoints.at(step))
    with pytest.raises(
        DamagedCheckpointsError,
        match=r"no checkpoint in .* is complete: checkpoint-00000003: the content of 'weights' differs from",
    ):
        checkpoints.latest()


def test_what_else_has_to_be_there_is_up_to_the_run(checkpoints, caplog):
    assert checkpoints.latest(lambda folder: None) == checkpoints.at(3)
    assert checkpoints.latest(
        lambda folder: "a snapshot is gone" * (folder.name[-1] == "3")
    ) == checkpoints.at(2)
    assert "checkpoint-00000003: a snapshot is gone; checkpoint-00000002 is taken" in caplog.text


def test_files_are_read_once(checkpoints, monkeypatch):
    assert checkpoints.steps() == [2, 3]
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it is read again"))
    assert checkpoints.steps() == [2, 3]
    os.truncate(checkpoints.at(3) / "weights", 5)
    assert checkpoints.steps() == [2]
