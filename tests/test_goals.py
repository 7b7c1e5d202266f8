"""benchmarks/check_goals.py: when it says that a goal is missed, what it says was measured, and its goals."""

import ast
import json
import re
import subprocess

import pytest

from tests.engine.support import ROOT

check_goals = pytest.importorskip("benchmarks.check_goals", reason="the benchmarks are not here")

from benchmarks import derived_figures, goals, harness, suite  # noqa: E402 - only where they are

pytestmark = pytest.mark.checkout

COMMIT = "0123456789abcdef0123456789abcdef01234567"
STAMP = {"revision": {"commit": COMMIT, "clean": True}, "machine": {"cpu": "a processor"}}
SCRIPTS = [path for path in (ROOT / "benchmarks").rglob("*.py") if "timed" not in path.parts]


def goal_of(**table):
    return goals._goal({"result": "one", "figure": "speed", "means": "how fast", **table})


def checked(monkeypatch, folder, result, *tables):
    """Return the exit code of a check of ``result`` against the goals of ``tables``."""
    monkeypatch.setattr(goals, "read", lambda: tuple(goal_of(**table) for table in tables))
    (folder / "one.json").write_text(json.dumps(result))
    return check_goals.main([], folder)


# ---- goals met and missed ------------------------------------------------------------------------------


def test_a_table_tells_figure_bound_revision_and_machine(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check_goals, "behind", {COMMIT: "12"}.__getitem__)
    assert checked(monkeypatch, tmp_path, STAMP | {"speed": 15.5}, {"at_least": 15}) == 0
    header, line, summary = capsys.readouterr().out.splitlines()
    assert header.split() == ["goal", "figure", "bound", "revision", "behind", "machine"]
    assert line.split() == ["how", "fast", "15.5", "≥", "15", "met", "012345678", "12", "a", "processor"]
    assert summary == "1 of 1 goals met"


@pytest.mark.parametrize(
    ("table", "is_met"),
    [
        ({"at_least": 4}, True),
        ({"above": 4}, False),
        ({"at_most": 4}, True),
        ({"below": 4}, False),
        ({"equals": 4}, True),
        ({"at_least": 3, "at_most": 3.9}, False),
        ({"over": "other", "at_most": 2}, True),
        ({"over": "other", "at_most": 1.9}, False),
        ({"given": {"games": 16}, "at_least": 4}, True),
        ({"given": {"games": 32}, "at_least": 4}, False),
        ({"figure": "parts/*/us", "below": 9}, True),
        ({"figure": "parts/*/us", "below": 8}, False),
        ({"figure": "none/*", "below": 8}, False),
        ({"figure": "gone", "below": 8}, False),
        ({"result": "two", "at_least": 4}, False),
    ],
)
def test_a_goal_is_missed_where_a_figure_is_out_of_bounds_or_not_there(tmp_path, monkeypatch, table, is_met):
    figures = {"speed": 4, "other": 2, "games": 16, "parts": {"a": {"us": 1}, "b": {"us": 8}}, "none": {}}
    assert checked(monkeypatch, tmp_path, STAMP | figures, table) == int(not is_met)


@pytest.mark.parametrize("revision", [{}, {"revision": None}, {"revision": {"commit": ""}}])
def test_a_result_without_its_revision_fails_even_where_goals_are_met(
    tmp_path, monkeypatch, capsys, revision
):
    assert checked(monkeypatch, tmp_path, {"speed": 4, **revision}, {"at_least": 4}) == 1
    assert "one.json does not name the revision" in capsys.readouterr().err


def test_a_result_of_parts_needs_the_revision_of_each(tmp_path, monkeypatch):
    goal = {"figure": "*/speed", "at_least": 4}
    parts = {"a": STAMP | {"speed": 4}, "b": STAMP | {"speed": 5}}
    assert checked(monkeypatch, tmp_path, parts, goal) == 0
    del parts["b"]["revision"]
    assert checked(monkeypatch, tmp_path, parts, goal) == 1


@pytest.mark.parametrize(("clean", "sign"), [(True, ""), (False, "+"), (None, "?")])
def test_a_revision_that_is_not_exactly_what_was_measured_has_a_sign(clean, sign):
    assert check_goals.shown({"commit": COMMIT, "clean": clean}) == f"012345678{sign}"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"at_leest": 4}, "one: speed has the unknown key 'at_leest'"),
        ({}, "one: speed lacks a bound"),
        ({"at_least": 4, "means": None}, "one: speed lacks means"),
    ],
)
def test_a_goal_that_says_too_little_or_too_much_is_named(table, message):
    table = {"result": "one", "figure": "speed", "means": "how fast", **table}
    with pytest.raises(goals.GoalError, match=message):
        goals._goal({key: value for key, value in table.items() if value is not None})


# ---- what is on file -----------------------------------------------------------------------------------


def test_every_goal_is_about_a_result_that_a_command_of_the_suite_writes():
    written = {step.result for steps in suite.read().values() for step in steps}
    assert {goal.result for goal in goals.read()} <= written
    assert {path.stem for path in harness.RESULTS.glob("*.json")} <= written


def test_every_goal_has_a_figure_and_every_derived_figure_a_goal():
    results = {path.stem: json.loads(path.read_bytes()) for path in harness.RESULTS.glob("*.json")}
    for goal in goals.read():
        assert check_goals.judged(goal, results).figures, goal
    used = {goal.figure.removesuffix("()") for goal in goals.read()}
    public = {name for name in vars(derived_figures) if name in check_goals.DERIVED and name[0] != "_"}
    assert public <= used


def test_every_result_on_file_names_its_revision():
    for path in harness.RESULTS.glob("*.json"):
        assert check_goals.stamps_of(json.loads(path.read_bytes())), path.name


# ---- what measures -------------------------------------------------------------------------------------


def test_what_a_benchmark_writes_names_revision_machine_and_versions(tmp_path):
    path = tmp_path / "folder" / "one.json"
    harness.write(path, {"speed": 4, "machine": {"gpu": "one"}, "versions": {"torch": "2"}})
    found = json.loads(path.read_text())
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode == 0:
        assert found["revision"]["commit"] == head.stdout.strip()
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["revision"]["date"])
        assert isinstance(found["revision"]["clean"], bool)
    else:  # unpacked from an archive
        assert found["revision"] is None
    assert found["machine"].keys() >= {"cpu", "cores", "gpu"}
    assert found["versions"].keys() >= {"territorial-env", "python", "numpy", "torch"}
    assert found["speed"] == 4


def test_a_package_in_somebody_elses_repository_has_no_revision(tmp_path, monkeypatch):
    from territorial.cli import machine

    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    assert machine.revision() is None


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_imports_no_test_and_leaves_its_stamp_to_the_harness(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules, names = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module))
            names |= {alias.name for alias in node.names}
    assert not [name for name in modules if name.split(".")[0] == "tests"]
    if path.name != "harness.py":
        assert not names & {"machine", "versions", "revision"}, "harness.write says these"


# ---- the suite -----------------------------------------------------------------------------------------


def test_the_suite_lists_what_it_would_run_and_quick_looks_go_elsewhere(capsys):
    assert suite.main(["core", "--list"]) == 0
    commands = capsys.readouterr().out.splitlines()
    assert commands[0] == "python benchmarks/engine/differential.py"
    assert commands[-2:] == ["python -m benchmarks.tables", "python -m benchmarks.check_goals"]
    assert suite.main(["trainers", "--quick", "--list"]) == 0
    (quick,) = capsys.readouterr().out.splitlines()
    assert quick.startswith("python benchmarks/envs/adapters_learn.py --seconds 3 --eval-games 16 --json ")
    assert "benchmarks/results" not in quick


def test_all_of_a_group_run_whatever_fails(monkeypatch, capsys):
    started = []

    def run(command):
        started.append(command)
        return int(command == "two")

    monkeypatch.setattr(suite, "run", run)
    assert suite.run_all(["one", "two", "three"]) == 1
    assert started == ["one", "two", "three"]
    assert "FAILED: two" in capsys.readouterr().err


def test_every_command_of_the_suite_names_a_file_that_is_there():
    for steps in suite.read().values():
        for step in steps:
            program, first, *_ = step.run.split()
            assert program == "territorial" or first == "-m" or (ROOT / first).is_file(), step.run
            assert step.result is not None or step.quick is None


def test_a_command_finds_the_benchmarks_and_this_python(capfd):
    assert suite.run("python -m benchmarks.suite browser --list") == 0
    assert "page_speed.py" in capfd.readouterr().out
