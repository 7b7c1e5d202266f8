"""``territorial train --resume``: options, checkpoints and snapshots that fit together, or one line."""

import dataclasses
import json

import pytest

from rllib_adapters.train import cli
from rllib_adapters.train import run as runs
from rllib_adapters.train.options import OPTIONS, Training
from rllib_adapters.train.run import LEAGUE, SNAPSHOTS, STATE, Run
from territorial.cli.options import UsageError
from territorial.league import SnapshotStore
from territorial.snapshots.checkpoints import Checkpoints
from tests.league.support import manifest, tensors


class RestoredError(Exception):
    """An algorithm would be restored now, from the checkpoint of this name."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run with the checkpoints 1 and 2; what is frozen after each iteration is in the league of each."""

    def restore(self, latest):
        raise RestoredError(latest.name)

    monkeypatch.setattr(Run, "_restore", restore)
    monkeypatch.setattr(runs, "start_ray", lambda runners: None)
    monkeypatch.setattr(cli, "_compile", lambda game: None)
    training = Training()
    training.write(tmp_path / OPTIONS)
    store, league = SnapshotStore(tmp_path / SNAPSHOTS), training.league()
    for step in (1, 2):
        name = league.freeze("main").name
        store.add(name, tensors(), manifest(metadata={"run": "this", "step": step}))

        def fill(where):
            league.save(where / LEAGUE)
            (where / "algorithm").write_text("weights")
            options = dataclasses.asdict(training)
            (where / STATE).write_text(json.dumps({"seconds": 1, "logged": 0, "options": options}))

        Checkpoints(tmp_path / "checkpoints").write(step, fill)
    return tmp_path


def resumed(folder, **limits):
    """Return from which checkpoint a run is restored."""
    with pytest.raises(RestoredError) as caught:
        Run(folder, None, **limits)
    return int(str(caught.value).rpartition("-")[2])


def change(folder, **changes):
    values = json.loads((folder / OPTIONS).read_text())
    (folder / OPTIONS).write_text(json.dumps(values | changes))


def test_the_newest_checkpoint_is_taken(folder):
    assert resumed(folder) == 2


# ---- options -----------------------------------------------------------------------------------------


def test_options_that_were_edited_are_refused_by_name(folder):
    change(folder, agent_seats=1, minibatch=64)
    with pytest.raises(ValueError, match=r"run\.json' has agent_seats = 1; .* began with 4") as caught:
        Run(folder, None)
    assert "checkpoint-00000002" in str(caught.value)


def test_options_that_hold_for_what_comes_may_be_edited(folder):
    change(folder, iterations=7, keep=5, checkpoint_every=3, torch_threads=1)
    assert resumed(folder, minutes=5.0) == 2


# ---- what is damaged -----------------------------------------------------------------------------------


LAST = "checkpoints/checkpoint-00000002"
DAMAGES = {
    "its state": lambda folder: (folder / LAST / STATE).write_text("{}"),
    "its algorithm": lambda folder: (folder / LAST / "algorithm").write_text("x"),
    "a snapshot that is gone": lambda folder: SnapshotStore(folder / SNAPSHOTS).remove("main-1"),
    "a snapshot": lambda folder: (folder / SNAPSHOTS / "main-1" / "weights.safetensors").write_bytes(b"x"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_checkpoint_before_a_damaged_one_is_taken_with_one_line(folder, caplog, damage):
    DAMAGES[damage](folder)
    assert resumed(folder) == 1
    (record,) = caplog.records
    assert record.getMessage().startswith("checkpoint-00000002: ")
    assert record.getMessage().endswith("; checkpoint-00000001 is taken")
    steps = Checkpoints(folder / "checkpoints").steps()
    assert steps == [1], "the one that is not taken is not in the way when the run comes to it again"


@pytest.mark.parametrize("damage", ["snapshots", "checkpoints"])
def test_a_run_that_cannot_be_resumed_ends_in_one_line(folder, capsys, damage):
    for path in (folder / damage).rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            path.write_bytes(b"x")
    before = sorted(folder.rglob("*"))
    assert cli.main([str(folder), "--resume"]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("territorial train: error: no checkpoint in ")
    assert "checkpoint-00000002" in line
    assert {path for path in before if path.name != ".writer"} <= set(folder.rglob("*"))


def test_what_cannot_be_restored_names_its_checkpoint(folder, monkeypatch):
    monkeypatch.undo()

    def fail(*_, **__):
        raise EOFError("Ran out of input")

    monkeypatch.setattr(runs.Algorithm, "from_checkpoint", fail)
    with pytest.raises(UsageError, match="00000002 cannot be restored: EOFError: Ran out of"):
        cli._train(Run, folder, None, {})
