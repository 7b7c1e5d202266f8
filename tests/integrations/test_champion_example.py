"""The road to a strong player: its commands follow each other and resume."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import harness
from territorial import cli
from territorial.bots.bot_files import FOLDER
from tests.integrations.support import refusal_of

pytestmark = pytest.mark.checkout


@pytest.fixture
def champion():
    return harness.example("champion")


@pytest.fixture
def commands(champion, monkeypatch):
    """The commands that were run; each of them takes 100 seconds, and fails if it is in ``failing``."""
    found = SimpleNamespace(run=[], failing="")

    def run(command, check):
        found.run.append(command[1:])
        return SimpleNamespace(returncode=int(bool(found.failing) and found.failing in command))

    clock = iter(range(0, 10**6, 100))
    monkeypatch.setattr(champion.subprocess, "run", run)
    monkeypatch.setattr(champion, "_of_children", lambda: float(next(clock)))
    return found


def test_every_step_has_what_the_one_before_it_made(champion, commands, tmp_path, capsys):
    folder = tmp_path / "road"
    champion.main([str(folder), "--seed", "3"])
    evolve, record, clone, train = commands.run
    assert evolve[:2] == [str(harness.EXAMPLES / "evolve_style.py"), str(folder / "style")]
    assert f"style:{folder / 'style' / 'style.json'}" in next(one for one in record if "--seats=" in one)
    assert clone[1:3] == [str(folder / "games"), str(folder / "clone")]
    assert f"--start={folder / 'clone' / 'weights.safetensors'}" in train
    assert f"--minutes={120 - 5 - champion.SPARE}" in train, "what the first three steps took is left out"
    assert all("--seed=3" in command for command in (evolve, clone, train))
    kept = json.loads((folder / "road.json").read_text())
    assert kept["processor_seconds"] == dict.fromkeys(("style", "games", "clone", "pairs"), 100.0)
    assert "6.7 minutes of processor time" in capsys.readouterr().out


def test_it_stops_where_a_step_fails_and_counts_what_it_took(champion, commands, tmp_path):
    commands.failing = str(harness.EXAMPLES / "clone.py")
    with pytest.raises(SystemExit):
        champion.main([str(tmp_path)])
    assert len(commands.run) == 3
    commands.failing = ""
    champion.main([str(tmp_path)])
    kept = json.loads((tmp_path / "road.json").read_text())["processor_seconds"]
    assert kept == {"style": 200.0, "games": 200.0, "clone": 200.0, "pairs": 100.0}


def test_a_folder_of_another_seed_is_left_alone(champion, commands, tmp_path, capsys):
    champion.main([str(tmp_path)])
    assert "was begun with seed 0" in refusal_of(capsys, champion, [str(tmp_path), "--seed", "1"])
    (tmp_path / "road.json").write_text("{")
    assert "error" in refusal_of(capsys, champion, [str(tmp_path)])


@pytest.mark.parametrize("quick", [[], ["--quick"]])
def test_its_options_are_those_of_the_commands(champion, commands, tmp_path, quick):
    (tmp_path / "style").mkdir()
    shutil.copy(FOLDER / "upstart-1.json", tmp_path / "style" / "style.json")
    champion.main([str(tmp_path), *quick])
    evolve, record, clone, train = commands.run
    cli.make_parser(with_plugins=False).parse_args(record[2:])
    for command in (evolve, clone, train):
        source = Path(command[0]).read_text(encoding="utf-8")
        names = re.findall(r'^    (?:    \("([\w-]+)", |(\w+): \w+ = option\()', source, re.MULTILINE)
        known = {f"--{(row or field).replace('_', '-')}" for row, field in names}
        options = {word.partition("=")[0] for word in command if word.startswith("--")}
        assert options <= known
        assert options
