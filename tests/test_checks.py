"""The parts of .ci/run and `make verify`: what fails is told, what could not be run has not passed."""

import importlib
import os
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(os.name == "nt", reason="checks are for systems with a POSIX shell"),
]


@pytest.fixture
def parts(monkeypatch, tmp_path):
    """The module, which writes its logs elsewhere."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "maintainers")
    module = importlib.import_module("parts")
    monkeypatch.setattr(module, "BUILT", tmp_path)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    yield module
    for name in ("parts", "environments", "checks"):
        sys.modules.pop(name, None)


def test_a_failure_ends_its_lane_and_what_runs_beside_it(parts, capsys):
    runner = parts.Runner(".ci/run")
    lanes = [
        [
            parts.CheckPart("works", ["echo fine"]),
            parts.CheckPart("fails", ["false"]),
            parts.CheckPart("next", []),
        ],
        [parts.CheckPart("hangs", ["sleep 300"])],
    ]
    runner.run_side_by_side(lanes)
    assert {name: result.code for name, result in runner.results.items()} == {"works": 0, "fails": 1}
    assert re.search(r"--- works: passed.*Alone again: \.ci/run fails", capsys.readouterr().out, re.DOTALL)


def test_a_part_that_could_not_be_run_has_not_passed(parts, monkeypatch):
    runner = parts.Runner(".ci/run")
    monkeypatch.setattr(parts.CheckPart, "skipped", lambda part: 1 / 0)
    runner.run_side_by_side([[parts.CheckPart("lost", ["true"])]])
    assert runner.failed == ["lost"]


def test_a_part_is_skipped_with_the_reason_and_counted(parts):
    runner = parts.Runner(".ci/run")
    runner.run(parts.CheckPart("browser", ["false"], needs="test -e no-such-file"))
    assert runner.failed == []
    assert "no-such-file" in runner.results["browser"].skipped
    assert "skipped" in runner.table()


def test_all_parts_have_environments_that_can_be_asked_for(parts):
    checks, environments = map(importlib.import_module, ("checks", "environments"))
    listed = [part for lanes in checks.CHECK for lane in lanes for part in lane] + checks.VERIFY
    assert len({part.name for part in listed}) == len(listed)
    assert {part.environment for part in listed} <= {"source", *environments.ENVIRONMENTS}
    for environment in environments.ENVIRONMENTS.values():
        extras = f"[{environment.extras}]" if environment.extras else ""
        for text in (f"territorial-env{extras}", *environment.also):
            Requirement(text)
