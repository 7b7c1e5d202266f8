"""The example that evolves a style: it gets better, resumes exactly, and writes a bot."""

import re

import numpy as np
import pytest

from benchmarks import harness
from territorial import VecGame, bots
from territorial.bots import Style
from tests.integrations.support import refusal_of

pytestmark = pytest.mark.checkout

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
