"""Examples with tiny numbers: the road to a strong player, evolving a style, leagues, evaluations, search."""

import json
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import harness
from territorial import VecGame, bots, cli
from territorial.bots import Style
from territorial.bots.bot_files import FOLDER
from territorial.league import SnapshotStore
from tests.integrations.support import refusal_of
from tests.league.support import manifest, tensors

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


# ---- evolving a style --------------------------------------------------------------------------------


FEW = ["--size", "small", "--population", "12", "--games-per-style", "2", "--opponents", "banker,novice"]


@pytest.fixture
def example(monkeypatch):
    found = harness.example("evolve_style")
    monkeypatch.setattr(found, "MATCH_GAMES", 9)
    return found


def test_stops_and_cores_change_nothing(example, tmp_path, monkeypatch, capsys):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    monkeypatch.setattr(example.os, "cpu_count", lambda: 1)
    example.main([str(whole), "--generations", "3", *FEW])
    style = Style.load(whole / "style.json")
    assert "evolved-1" in capsys.readouterr().out.partition("mean place     ")[2]
    example.main([str(parts), "--generations", "1", *FEW])
    monkeypatch.setattr(example.os, "cpu_count", lambda: 2)
    example.main([str(parts), "--generations", "3", *FEW])
    assert "generation 2 of 3: mean place" in capsys.readouterr().out
    assert Style.load(parts / "style.json") == style
    game = VecGame(example.SIZES["small"], 1, seats=[f"style:{whole / 'style.json'}"] + ["banker"] * 11)
    game.reset(seed=0)
    assert game.seats_of(0)[0] == "evolved-1"


def test_random_styles_get_better(example, tmp_path, capsys):
    options = ["--population", "24", "--games-per-style", "4", "--opponents", "turtle,besieger,settler"]
    example.main([str(tmp_path), "--size", "small", "--start", "random", "--generations", "8", *options])
    places = [float(place) for place in re.findall(r"mean place ([\d.]+) of 12", capsys.readouterr().out)]
    assert np.mean(places[-3:]) < places[0] - 2


def test_what_cannot_be_done_is_refused_and_leaves_the_files(example, tmp_path, capsys):
    example.main([str(tmp_path), "--generations", "1", *FEW])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert "seed is 5; " in refusal_of(capsys, example, [str(tmp_path), "--seed", "5", *FEW])
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    other = tmp_path / "other"
    for option, value, message in (
        ("--start", "turtel", "did you mean 'turtle'"),
        ("--opponents", "turtel", "did you mean 'turtle'"),
        ("--name", "turtle-1", "choose another one"),
    ):
        assert message in refusal_of(capsys, example, [str(other), option, value])
    assert list(other.iterdir()) == []
    (other / "style.json").write_text("mine")
    assert "it is there already" in refusal_of(capsys, example, [str(other), *FEW])


def test_styles_of_all_bots_vary_within_the_ranges(example):
    rng = np.random.default_rng(0)
    parents = example.starting_styles(",".join(bots.NAMES))
    assert len(parents) == len(bots.NAMES) - 1, "random cannot vary"
    styles = [example.child(parents[i : i + 2], "a", rng) for i in range(len(parents)) for _ in range(9)]
    assert len(set(styles)) > 0.9 * len(styles)
    drawn = [example.child([], "a", rng) for _ in range(50)]
    for part in [part for style in drawn for part in (style, style.free, style.first) if part]:
        for name in example.NUMBERS.keys() & vars(part).keys():
            low, high = example.NUMBERS[name]
            value = getattr(part, name)
            assert low <= value <= high or (value == 0 and name in example.MAY_BE_OFF)
    assert {style.first is None for style in drawn} == {style.free.waits for style in drawn} == {True, False}


# ---- leagues and evaluations -------------------------------------------------------------------------


NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def as_in_their_folder(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    yield
    for name in ("coevolution", "curriculum", "tuned_bot", "torch_league", "ppo"):
        sys.modules.pop(name, None)


def test_settings_and_players_qualify_each_other(capsys):
    import coevolution

    found = coevolution.main(
        ["--generations", "1", "--episodes", "2", "--offspring", "1", "--processes", "1"]
    )
    assert 1 <= len(found) <= 5
    assert capsys.readouterr().out.count("Niche(") == len(found)


def test_a_ladder_is_climbed_by_fresh_games():
    import curriculum

    found = curriculum.main(["--generations", "2", "--episodes", "4", "--offspring", "1", "--mark", "0"])
    assert found.scenarios[0] == "a few novices"
    assert len(found.scenarios) >= 2
    assert found.policies[-1] == "first again"


@NEEDS_TORCH
def test_a_plain_loop_trains_a_league_and_goes_on(tmp_path, capsys):
    import torch_league

    options = ["--run", str(tmp_path), "--num-games", "2", "--rollout", "12"]
    torch_league.main([*options, "--iterations", "2"])
    league = torch_league.main([*options, "--iterations", "6"])
    assert (league.steps, list(league.snapshots)) == ({"main": 6}, ["main-0", "main-1"])
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        f"iteration {i}" for i in range(1, 7)
    ]
    assert (tmp_path / "league.npz").exists()


@NEEDS_TORCH
def test_a_plain_loop_does_not_begin_over_snapshots_of_something_else(tmp_path, capsys):
    import torch_league

    SnapshotStore(tmp_path / "snapshots").add("main-0", tensors(), manifest())
    assert "it is there already, and would be replaced" in refusal_of(
        capsys, torch_league, ["--run", str(tmp_path)]
    )
    assert SnapshotStore(tmp_path / "snapshots").manifest("main-0") == manifest()


# ---- search ------------------------------------------------------------------------------------------


def test_the_search_is_better_than_its_rollout_policy_with_disjoint_intervals(capsys):
    search = harness.example("search")
    assert search.main(["--games", "20", "--candidates", "8", "--rollouts", "3", "--horizon", "8"]) == 0
    assert "search is better with disjoint intervals" in capsys.readouterr().out
