"""``territorial match``: tables, JSON, going on after an interruption, wrong arguments."""

import argparse
import json
import re
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest

from territorial import GameConfig, match
from territorial.cli import main, snapshots
from territorial.cli import match as match_verb
from territorial.evaluation.match import MAPS, Ranking
from territorial.league import charts
from tests.files.test_atomic import LEAGUE
from tests.play.sessions import wait_for

SMALL = ("--height", "32", "--width", "32", "--num-players", "4", "--max-ticks", "300", "--map", "open")
ONE = ("--processes", "1")
COMMANDS = (
    "match --games 2 --deal --processes 1",
    "watch --page ł.html",
    "dataset ł --games 1 --processes 1",
    "demo --picture ł.png",
)


def test_match_tells_json_its_games(result_of):
    found = result_of("match", "--seats", "banker,turtle", "--games", "3", "--seed", "5", *SMALL, *ONE)
    config = GameConfig(height=32, width=32, num_players=4, max_ticks=300, map="open", num_maps=MAPS)
    ranking = match(["banker", "turtle"], config, 3, seed=5, processes=1, progress=False)
    assert found["standings"] == json.loads(json.dumps(ranking.to_dict()))["standings"]
    about = {"config": config.hexdigest, "players": ["banker-1", "turtle-1"] * 2, "games": 3}
    assert found["contest"] | about == found["contest"]
    assert found["shape"]["games"] == 3
    assert len(found["beats"]) == len(found["survival"]) == len(found["land"]) == 2


def test_who_comes_in_before_whom_is_printed_for_few_players(run, done, result_of):
    common = ("match", "--deal", "--games", "6", *SMALL, *ONE)
    players = ("turtle-1", "banker-1", "novice-1")
    out, err = done(*common, "--seats", ",".join(players))
    assert out.split()[:9] == ["player", "seats", "mean", "place", "games", "won", "times", "fair", "rating"]
    assert "6 games; length" in out
    assert "6 of 6 games" in err
    lines = out.split("per cent of all times:\n")[1].splitlines()
    order = lines[0].split()
    assert set(order) == set(players)
    found = result_of(*common, "--seats", ",".join(players))
    assert order == [line["player"] for line in found["standings"]]
    beats = {
        (row, column): found["beats"][i][j]
        for i, row in enumerate(found["players"])
        for j, column in enumerate(found["players"])
    }
    for row, line in zip(order, lines[1:4], strict=True):
        cells = ["-" if row == column else f"{100 * beats[row, column]:.0f}" for column in order]
        assert line.split() == [row, *cells]
    assert "how often one comes in before another: see --json" in run(*common)[1]


def test_a_player_alone_has_standings_and_no_rating(done, tmp_path):
    pytest.importorskip("openskill", reason="needs the extra league")
    pytest.importorskip("matplotlib", reason="needs the extra league")
    file, plots = tmp_path / "t.json", tmp_path / "plots"
    more = ("--games", "2", "--json", str(file), "--plots", str(plots), *SMALL, *ONE)
    out, _ = done("match", "--seats", "turtle", *more)
    (line,) = (line.split() for line in out.splitlines() if line.startswith("turtle-1"))
    assert line[-1] == "-"
    (standing,) = json.loads(file.read_text())["standings"]
    assert standing["place"]["value"] == 2.5
    assert standing["rating"] is None
    assert {path.stem for path in plots.iterdir()} == {"beats", "survival", "land"}


@pytest.mark.parametrize("verb", ["match", "league"])
def test_what_was_computed_is_written_before_it_is_printed_or_drawn(run, tmp_path, monkeypatch, verb):
    """Drawing and printing fail, the one after the other."""
    pytest.importorskip("matplotlib", reason="needs the extra league")
    file, plots, lost = tmp_path / "a.json", tmp_path / "plots", OSError(28, "No space left", "beats.png")
    for place in (Ranking, charts):
        monkeypatch.setattr(place, "draw" if place is Ranking else "save_plots", Mock(side_effect=lost))
    (tmp_path / "league").write_bytes(LEAGUE.to_bytes())
    games = ["show", tmp_path / "league"] if verb == "league" else ["--games", "2", *SMALL, *ONE]
    code, out, err = run(verb, *games, "--json", file, "--plots", plots)
    assert (code, json.loads(file.read_text()).keys() >= {"players"}) == (2, True)
    assert "rating" in out
    assert err.endswith("argument --plots: 'beats.png': No space left\n")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("command", COMMANDS)
def test_letters_that_stdout_lacks_are_replaced(tmp_path, monkeypatch, command, encoding):
    monkeypatch.chdir(tmp_path)
    with open("out", "w", encoding=encoding) as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main([*command.split(), *SMALL]) == 0
    assert ("\\u0142" in (tmp_path / "out").read_text(encoding)) == ("ł" in command)


def test_a_plot_that_cannot_be_written_is_named_before_games_are_played(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="needs the extra league")
    monkeypatch.setattr(match_verb, "match", lambda *_, **__: pytest.fail("it was played"))
    (tmp_path / "land.png").mkdir()
    assert "land.png': it is a folder" in run("match", "--plots", tmp_path, *SMALL)[2]


FAILS = """\
from pathlib import Path
from territorial.bots import PythonBot
class Mine(PythonBot):
    name = "mine-1"
    def decide(self, view):
        if Path("stop").exists():
            raise OSError("no more")
        return -1, 1
"""


def test_a_bot_that_fails_ends_the_contest_with_a_word_on_why(run, done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fails_for_a_test.py").write_text(FAILS)
    file, stop = tmp_path / "a.jsonl", tmp_path / "stop"
    common = ("match", "--seats", "fails_for_a_test:Mine,turtle", *ONE, *SMALL)
    kept = (*common, "--records", str(file))
    assert run(*kept, "--games", "2")[0] == 0
    stop.touch()
    out, err = done(*kept, "--games", "4", code=1)
    assert "2 games; length" in out
    last = err.splitlines()[-2:]
    assert re.fullmatch(
        r"territorial match: OSError: no more \(.*fails_for_a_test.py, line 7, in decide\)", last[0]
    )
    assert last[1] == f"2 of 4 games are in {file}; the same command resumes"
    code, out, err = run(*common, "--games", "4")
    assert (code, out) == (1, "")
    assert err.endswith("0 of 4 games were played; with --records, the same command would resume\n")
    stop.unlink()
    assert run(*kept, "--games", "4")[0] == 0


def test_the_code_of_architectures_counts_where_snapshots_play(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trunk_for_a_test.py").write_text("class Trunk: pass\n")
    parsed = argparse.Namespace(architectures=[("Mine", "trunk_for_a_test:Trunk")])
    assert snapshots.code_of(parsed, ["turtle"]) == {}
    before = snapshots.code_of(parsed, ["turtle", "snapshot:a"])
    assert list(before) == ["architecture Mine"]
    (tmp_path / "trunk_for_a_test.py").write_text("class Trunk: depth = 2\n")
    assert snapshots.code_of(parsed, ["snapshot:a"]) != before


def test_ratings_and_plots_name_the_extra_that_they_need(done, tmp_path, monkeypatch):
    for module in ("openskill", "openskill.models", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    common = ("match", "--games", "2", *SMALL, *ONE)
    assert "ratings need openskill: pip install 'territorial-env[league]'" in done(*common)[0]
    assert "plots need matplotlib" in done(*common, "--plots", str(tmp_path / "plots"), code=2)[1]


@pytest.mark.parametrize(
    ("player", "missing", "message"),
    [
        (
            "snapshot:a",
            ("torch", "territorial.nets", "territorial.nets.players"),
            "snapshots need PyTorch: pip install 'territorial-env[torch]'",
        ),
        (
            "checkpoint:a",
            ("rllib_adapters",),
            "'checkpoint:a' needs RLlib: pip install 'territorial-env[rllib]'",
        ),
    ],
)
def test_policies_name_the_extra_that_they_need(done, tmp_path, monkeypatch, player, missing, message):
    for module in missing:
        monkeypatch.setitem(sys.modules, module, None)
    _, err = done("match", "--seats", f"{player},turtle", "--store", str(tmp_path), *SMALL, code=2)
    assert message in err


def test_a_contest_on_a_map_of_ones_own_has_that_map_alone(result_of, tmp_path):
    land = tmp_path / "land.txt"
    land.write_text("\n".join(["." * 40] * 40) + "\n")
    small = ("--games", "1", "--num-players", "4", "--max-ticks", "100")
    assert result_of("match", *small, "--map", str(land), *ONE)["contest"]["settings"]["num_maps"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_finished_games_survive_a_process_that_is_killed(run, tmp_path):
    file = tmp_path / "a.jsonl"
    contest = ("match", "--records", str(file), *SMALL)
    command = [sys.executable, "-m", "territorial", *contest, "--games", "100000", "--processes", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: process.poll() is not None or (file.exists() and file.read_bytes().count(b"\n") > 8))
    process.kill()
    assert process.wait(300) == -signal.SIGKILL
    before = file.read_bytes()
    assert run(*contest, "--games", str(before.count(b"\n") - 1), *ONE)[0] == 0
    assert file.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
