"""Logs that a resumed run continues: whole lines, and each iteration once, wherever they were cut."""

import csv
import json
import os

import pytest

from rllib_adapters.train.memory_watch import MemoryWatch, kind_of, plot_memory, read_memory
from rllib_adapters.train.run import PROGRESS, _Log


def row(iteration):
    return {"iteration": iteration, "seconds": 1.5 * iteration, "frozen": f"main-{iteration}", "place": None}


def logged(folder, rows, begins_at=1, logged=0):
    """Return the bytes of a log that a run which begins at that iteration has added rows to."""
    log = _Log(folder, logged, begins_at)
    for number in rows:
        log.add(row(number))
    size = log.sync()
    log.close()
    return size


def iterations(folder):
    """Return the iterations of a log, all of whose rows are whole."""
    rows = list(csv.DictReader((folder / PROGRESS).read_text().splitlines()))
    assert all(
        one == {name: str(value or "") for name, value in row(int(one["iteration"])).items()} for one in rows
    )
    return [int(one["iteration"]) for one in rows]


@pytest.mark.parametrize("lost", [1, 2, 3, 15, 20])
def test_a_log_that_was_cut_inside_a_line_goes_on_with_a_whole_one(tmp_path, lost):
    size = logged(tmp_path, [1, 2, 3])
    path = tmp_path / PROGRESS
    path.write_bytes(path.read_bytes()[:-lost])
    logged(tmp_path, [4, 5], begins_at=4, logged=size)
    assert iterations(tmp_path) == ([1, 2, 4, 5] if lost <= 18 else [1, 4, 5])


def test_a_log_that_was_cut_inside_its_heading_begins_again(tmp_path):
    size = logged(tmp_path, [1, 2])
    (tmp_path / PROGRESS).write_bytes((tmp_path / PROGRESS).read_bytes()[:15])
    logged(tmp_path, [3], begins_at=3, logged=size)
    assert iterations(tmp_path) == [3]


def test_rows_after_the_checkpoint_are_written_once(tmp_path):
    size = logged(tmp_path, [1, 2])
    logged(tmp_path, [3, 4], begins_at=3, logged=size)
    logged(tmp_path, [3, 4], begins_at=3, logged=size)
    assert iterations(tmp_path) == [1, 2, 3, 4]


def test_rows_are_written_once_in_a_file_that_an_editor_has_made_shorter(tmp_path):
    size = logged(tmp_path, [1, 2])
    logged(tmp_path, [3, 4], begins_at=3, logged=size)
    path = tmp_path / PROGRESS
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    logged(tmp_path, [3], begins_at=3, logged=size + 2)
    assert iterations(tmp_path) == [1, 2, 3]


# ---- memory ------------------------------------------------------------------------------------------


def measured(path, numbers):
    """Let a new process measure after these iterations."""
    watch = MemoryWatch(path)
    for number in numbers:
        watch(algorithm=None, result={"training_iteration": number})


def test_measurements_of_a_resumed_run_are_whole_and_come_once(tmp_path):
    path = tmp_path / "memory.jsonl"
    measured(path, [1, 2, 3, 4])
    path.write_bytes(path.read_bytes()[:-9])
    measured(path, [3, 4, 5])
    assert [one["iteration"] for one in read_memory(path)] == [1, 2, 3, 4, 5]


def test_nothing_is_measured_into_a_file_of_something_else(tmp_path):
    path = tmp_path / "notes"
    path.write_text("of a year\n")
    with pytest.raises(ValueError, match="line 1 was not written by a MemoryWatch"):
        MemoryWatch(path)
    assert path.read_text() == "of a year\n"


def test_a_link_in_the_place_of_the_log_is_refused(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (tmp_path / PROGRESS).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link"):
        _Log(tmp_path, 0, 1)
    assert outside.read_text() == "precious"


def test_processes_have_kinds():
    assert kind_of(os.getpid(), "python") == "driver"
    assert kind_of(0, "ray::StockEnvRu") == "StockEnvRu"
    assert kind_of(0, "ray::PPOLearner.update") == "PPOLearner"
    assert {kind_of(0, name) for name in ("ray::IDLE", "ray::DashboardAg", "raylet", "python")} == {"Ray"}


def test_a_plot_is_a_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra `render` has it")
    path = tmp_path / "memory.jsonl"
    lines = [
        {"iteration": i, "seconds": i, "measure": "PSS", "total": 3 * 2**20, "kinds": {"driver": 3 * 2**20}}
        for i in (1, 2)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    plot_memory(path, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_wrong_is_named(tmp_path):
    with pytest.raises(ValueError, match="every is 0; it must be at least 1"):
        MemoryWatch(tmp_path / "memory.jsonl", every=0)
    line = '{"iteration": 1, "seconds": 1, "measure": "PSS", "total": 1, "kinds": {"driver": 1}}\n'
    for text, message in (
        ("", "has no measurements yet"),
        ("{}\n", "line 1 was not written by a MemoryWatch"),
        (
            line + line.replace("1, ", "NaN, "),
            "line 2 was not written by a MemoryWatch: it has the number NaN",
        ),
        (line + line.replace('"PSS"', '"x"'), "line 2 was not written by a MemoryWatch: measure is 'x'"),
        (
            line + line.replace('{"driver": 1}', "[1]"),
            r"line 2 was not written by a MemoryWatch: kinds is \[1\]",
        ),
        (
            line + " " * 2**21,
            "line 2 was not written by a MemoryWatch: line 2 has more than 1,048,576 bytes",
        ),
    ):
        (tmp_path / "memory.jsonl").write_text(text)
        with pytest.raises(ValueError, match=message):
            read_memory(tmp_path / "memory.jsonl")
