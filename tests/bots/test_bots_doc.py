"""docs/bots.md: its Python and its commands run, its bot plays one game in both forms, its picture is new."""

import json
import re
import shlex
from pathlib import Path

import pytest

import territorial
from territorial import bots, cli

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/bots.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
SMALL = ("--height", "64", "--width", "64", "--max-ticks", "200", "--processes", "1")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", blocks("python"))
def test_its_python_runs(source, capsys):
    exec(compile(source, str(PAGE), "exec"), {"__name__": "page"})


def test_its_commands_work_one_after_the_other_and_the_second_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 3
    for command in commands:
        assert cli.main([*shlex.split(command)[1:], *SMALL]) == 0
        assert "mean place" in capsys.readouterr().out
    assert json.loads(Path("match.json").read_text())["shape"]["games"] == 64
    assert len(Path("match.jsonl").read_text().splitlines()) == 65


def test_the_bot_in_python_is_that_of_the_example():
    (bot,) = re.findall(r"^class Patient.*?(?=^\S)", blocks("python")[2], re.DOTALL | re.MULTILINE)
    assert bot in (ROOT / "examples/python_bot.py").read_text(encoding="utf-8")


def test_its_style_plays_the_games_of_the_bot_in_python():
    in_python, as_data = {"__name__": "page"}, {"__name__": "page"}
    exec(blocks("python")[2], in_python)
    exec(blocks("python")[3], as_data)
    config = territorial.GameConfig(height=24, width=24, num_players=3, map="open")
    digests = []
    for seat in (in_python["Patient"](), as_data["patient"]):
        game = territorial.VecGame(config, 2, seats=[seat, "turtle", seat], observe=False)
        game.reset(seed=1)
        for _ in range(90):
            game.step()
        assert game.state.taken[:, 1, 1:].sum() > 0, "land was taken from players"
        digests.append([game.digest(0), game.digest(1)])
    assert digests[0] == digests[1]


def test_there_is_no_bot_of_that_name_yet():
    assert "patient" not in bots.ALIASES
