"""Logs that a resumed run continues: whole lines, and each iteration once, wherever they were cut."""

import csv
import os

import pytest

from rllib_adapters.train.run import PROGRESS, _Log, kind_of


def row(iteration):
    return {"iteration": iteration, "seconds": 1.5 * iteration, "frozen": f"main-{iteration}", "place": None}


def logged(folder, rows, logged=0):
    """Return the bytes of a log, of which so many were kept, that a run has added rows to."""
    log = _Log(folder, logged)
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
