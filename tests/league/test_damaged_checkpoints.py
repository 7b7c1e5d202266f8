"""A checkpoint is complete when all of it is there, bit by bit; else the one before is taken."""

import os
import re

import pytest

from territorial.snapshots.checkpoints import Checkpoints, DamagedCheckpointsError
from tests.league.test_checkpoints import content, fill_with

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
