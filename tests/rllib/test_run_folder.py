"""The folder of a run: it replaces what it has made itself, and nothing else; its logs have whole lines."""

import csv
import dataclasses
import json
import os
import re
from types import SimpleNamespace
from unittest import mock

import pytest

from rllib_adapters.league import callback
from rllib_adapters.league.callback import LeagueCallback
from rllib_adapters.train import cli
from rllib_adapters.train import run as runs
from rllib_adapters.train.options import RUN_FILE, Training
from rllib_adapters.train.run import LEAGUE, PROGRESS, SNAPSHOTS, STATE, Run, _Log, kind_of
from territorial import cli as command
from territorial.cli.options import UsageError
from territorial.league import League, SnapshotStore, StoreInUseError
from territorial.league.checkpoints import Checkpoints
from territorial.league.store import only_writer
from tests.league.support import manifest, tensors


class BuiltError(Exception):
    """An algorithm would be built now."""


@pytest.fixture
def nothing_is_built(monkeypatch):
    """Runs come as far as their algorithms."""
    monkeypatch.setattr(Run, "_build", build)


build = mock.Mock(side_effect=BuiltError)


def store_in(folder, **names):
    """Return the store of a run in ``folder`` with snapshots of these names and metadata."""
    store = SnapshotStore(folder / SNAPSHOTS)
    for name, metadata in names.items():
        store.add(name, tensors(), manifest(metadata=metadata))
    return store


def contents(folder):
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".writer"
    }


OTHERS = (
    "snapshots/precious/manifest.json",
    "checkpoints/checkpoint-00000003/weights",
    "progress.csv",
)


@pytest.mark.parametrize("path", OTHERS)
def test_a_new_run_refuses_a_folder_with_files_that_it_did_not_make(tmp_path, capsys, path, nothing_is_built):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("of somebody else")
    name = path.partition("/")[0]
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match=f"it is there already.*{name}'"):
        Run(tmp_path, Training())
    assert command.main(["train", str(tmp_path)]) == 2, "before Ray is loaded, too"
    assert (
        f"argument RUN: {str(tmp_path / name)!r}: it is there already, and would" in capsys.readouterr().err
    )
    assert contents(tmp_path) == before


def test_two_runs_that_begin_one_after_the_other_in_one_folder_are_one(tmp_path, monkeypatch):
    def begin_another(self, *_):
        with pytest.raises(FileExistsError, match="--resume resumes it"):
            Run(tmp_path, Training(seed=2))
        raise BuiltError

    monkeypatch.setattr(Run, "_build", begin_another)
    with pytest.raises(BuiltError):
        Run(tmp_path, Training(seed=1))


def test_a_run_that_cannot_be_built_leaves_nothing_in_the_way_of_another(tmp_path, monkeypatch):
    def build_half(self, *_):
        assert Training.read(tmp_path / RUN_FILE).seed == 1, "a process that is killed leaves what is resumed"
        store_in(tmp_path, **{"main-0": {"run": "this", "step": 0}})
        raise BuiltError

    monkeypatch.setattr(Run, "_build", build_half)
    with pytest.raises(BuiltError):
        Run(tmp_path, Training(seed=1))
    assert contents(tmp_path).keys() <= {tmp_path / SNAPSHOTS / ".lock"}
    monkeypatch.setattr(Run, "_build", build)
    with pytest.raises(BuiltError):
        Run(tmp_path, Training(seed=2))


FIRST = {"main-0": {"run": "this", "step": 0}}


def test_a_run_stopped_before_its_first_checkpoint_begins_again(tmp_path, nothing_is_built):
    store = store_in(tmp_path, **FIRST)
    Training().write(tmp_path / RUN_FILE)
    with pytest.raises(BuiltError):
        Run(tmp_path, None)
    assert store.names() == []


@pytest.mark.parametrize(
    "other", [{"main-1": {"run": "this", "step": 1}}, {"mine-0": {"run": "this", "step": 0}}, {"last": {}}]
)
def test_a_run_without_a_checkpoint_does_not_begin_again_over_snapshots(tmp_path, nothing_is_built, other):
    store = store_in(tmp_path, **FIRST, **other)
    Training().write(tmp_path / RUN_FILE)
    with pytest.raises(ValueError, match=f"no checkpoint .* is complete.* {next(iter(other))!r}") as caught:
        Run(tmp_path, None)
    assert str(store.path) in str(caught.value)
    assert store.names() == sorted([*FIRST, *other])


# ---- while it trains -----------------------------------------------------------------------------------


@pytest.fixture
def league_callback(tmp_path):
    """A league_callback of the run "mine" of a new league, in a store that has snapshots of others, too."""
    names = {"main-0": {"run": "mine"}, "main-1": {"run": "another"}, "last": {"step": 3}, "copied": {}}
    found = LeagueCallback(League(Training().league_config()), store_in(tmp_path, **names))
    found.run = "mine"
    return found


def test_only_snapshots_of_the_run_itself_are_removed(league_callback):
    (league_callback.store.path / "copied" / "manifest.json").write_text(
        "{"
    )  # damaged: nobody knows whose it is
    assert league_callback.clean() == ["main-0"]
    assert league_callback.store.names() == ["copied", "last", "main-1"]


def test_a_copy_is_not_frozen_over_a_snapshot_of_another_run(league_callback, monkeypatch):
    monkeypatch.setattr(callback, "freeze", lambda *_, **__: pytest.fail("it is written"))
    league_callback.league.freeze("main")  # main-0
    with pytest.raises(FileExistsError, match="'main-1' of another run is in"):
        league_callback._freeze(SimpleNamespace(), "main")
    assert league_callback.store.manifest("main-1").metadata == {"run": "another"}


def test_what_was_frozen_after_the_checkpoint_is_replaced(league_callback, monkeypatch):
    replaced = []
    monkeypatch.setattr(
        callback, "freeze", lambda *args, **given: replaced.append((args[2], given["replace"]))
    )
    assert league_callback._freeze(SimpleNamespace(), "main") == "main-0"
    assert replaced == [("main-0", True)]
    assert "main-0" in league_callback.store.names()


def test_learners_do_not_go_back_to_weights_of_another_run(league_callback, monkeypatch):
    monkeypatch.setattr(callback, "set_league", lambda *_: None)
    learner = dataclasses.replace(league_callback.league.config.learners[0], reset_chance=0.5)
    league_callback.league = League(dataclasses.replace(league_callback.league.config, learners=(learner,)))
    store_in(league_callback.store.path.parent, **{"main-start": {"run": "another"}})
    with pytest.raises(FileExistsError, match="'main-start' of another run is in"):
        league_callback.begin(SimpleNamespace())


def test_two_runs_that_begin_in_one_folder_leave_the_snapshots_of_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(Run, "_build", lambda *_: pytest.fail("the second run goes on"))
    store = store_in(tmp_path, **{"main-1": {}})
    with only_writer(store.path), pytest.raises(StoreInUseError, match="another run writes to the store"):
        Run(tmp_path, Training())
    assert store.names() == ["main-1"]


class RestoredError(Exception):
    """An algorithm would be restored now, from the checkpoint of this name."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run with the checkpoints 1 and 2; what is frozen after each iteration is in the league of each."""

    def restore(self, latest):
        raise RestoredError(latest.name)

    monkeypatch.setattr(Run, "_restore", restore)
    monkeypatch.setattr(runs, "start_ray", lambda runners: None)
    monkeypatch.setattr(cli, "compile_steps", lambda game: None)
    training = Training()
    training.write(tmp_path / RUN_FILE)
    league = League(training.league_config())
    for step in (1, 2):
        store_in(tmp_path, **{league.freeze("main").name: {"run": "this", "step": step}})

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
    values = json.loads((folder / RUN_FILE).read_text())
    (folder / RUN_FILE).write_text(json.dumps(values | changes))


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
    assert re.fullmatch("checkpoint-00000002: .*; checkpoint-00000001 is taken", record.getMessage())
    steps = Checkpoints(folder / "checkpoints").steps()
    assert steps == [1], "the one that is not taken is not in the way when the run comes to it again"


@pytest.mark.parametrize("damage", ["snapshots", "checkpoints"])
def test_a_run_that_cannot_be_resumed_ends_in_one_line(folder, capsys, damage):
    for path in (folder / damage).rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            path.write_bytes(b"x")
    before = sorted(folder.rglob("*"))
    assert command.main(["train", str(folder), "--resume"]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert re.match("territorial train: error: no checkpoint in .*checkpoint-00000002", line)
    assert {path for path in before if path.name != ".writer"} <= set(folder.rglob("*"))


def test_what_cannot_be_restored_names_its_checkpoint(folder, monkeypatch):
    monkeypatch.undo()

    fails = mock.Mock(side_effect=EOFError("Ran out of input"))
    monkeypatch.setattr(runs.Algorithm, "from_checkpoint", fails)
    with pytest.raises(UsageError, match="00000002 cannot be restored: EOFError: Ran out of"):
        cli._train(Run, folder, None, {})


def row(iteration):
    return {"iteration": iteration, "seconds": 1.5 * iteration, "frozen": f"main-{iteration}", "place": None}


def logged(folder, rows, logged=0):
    """Return the bytes of a log, of which so many were kept, that a run has added rows to."""
    log = _Log(folder, logged)
    for number in rows:
        log.add(row(number))
    return log.sync()


def iterations(folder):
    """Return the iterations of a log, all of whose rows are whole."""
    rows = list(csv.DictReader((folder / PROGRESS).read_text().splitlines()))
    assert all(
        one == {name: str(value or "") for name, value in row(int(one["iteration"])).items()} for one in rows
    )
    return [int(one["iteration"]) for one in rows]


@pytest.mark.parametrize(
    ("end", "whole"), [(-1, [1, 2]), (-2, [1, 2]), (-3, [1, 2]), (-15, [1, 2]), (-20, [1]), (15, [])]
)
def test_a_log_that_was_cut_inside_a_line_or_its_heading_goes_on_with_a_whole_one(tmp_path, end, whole):
    size = logged(tmp_path, [1, 2, 3])
    path = tmp_path / PROGRESS
    path.write_bytes(path.read_bytes()[:end])
    logged(tmp_path, [4, 5], logged=size)
    assert iterations(tmp_path) == [*whole, 4, 5]


def test_a_link_in_the_place_of_the_log_is_refused(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (tmp_path / PROGRESS).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link"):
        _Log(tmp_path, 0)
    assert outside.read_text() == "precious"


def test_processes_have_kinds():
    assert kind_of(os.getpid(), "python") == "driver"
    kinds = {"ray::StockEnvRu": "StockEnvRu", "ray::PPOLearner.update": "PPOLearner"}
    kinds |= dict.fromkeys(("ray::IDLE", "ray::DashboardAg", "raylet", "python"), "Ray")
    assert {name: kind_of(0, name) for name in kinds} == kinds
