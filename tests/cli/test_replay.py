"""``territorial demo --replay`` and ``territorial replay``: what they write, print, refuse and return."""

import dataclasses
import json

import numpy as np
import pytest

from territorial import Replay
from territorial.render import Renderer
from tests.cli.test_cli import SMALL
from tests.render.support import decode_animation, decode_png


@pytest.fixture
def game(tmp_path, monkeypatch, result_of):
    """What ``play --replay`` says of a game, in a folder where its replay is."""
    monkeypatch.chdir(tmp_path)
    return result_of("demo", "--seed", "5", "--no-picture", "--replay", *SMALL)


# ---- play ------------------------------------------------------------------------------------------


def test_play_leaves_a_replay_of_its_game(game, tmp_path):
    assert game["replay"] == "territorial-5.replay"
    assert [path.name for path in tmp_path.iterdir()] == ["territorial-5.replay"]
    replay = Replay.load(tmp_path / "territorial-5.replay")
    assert (replay.seed, replay.num_ticks, replay.is_over) == (5, game["ticks"], True)
    assert (replay.digest.hex(), replay.map_kind) == (game["game_digest"], "lakes")
    replay.verify()


# ---- replay ----------------------------------------------------------------------------------------


def test_it_says_what_game_it_is(game, run):
    code, out, err = run("replay", "territorial-5.replay")
    assert (code, err) == (0, "")
    for text in ("32 x 48, map lakes, 4 seats, seed 5", "200, to the end", game["game_digest"], "rules 1"):
        assert text in out
    assert "max_ticks=200" in out
    result = json.loads(run("replay", "territorial-5.replay", "--json")[1])
    assert (result["ticks"], result["config"]["width"]) == (200, 48)
    assert (result["checkpoints"], result["seats"]) == ([[200, game["game_digest"]]], game["seats"])
    assert "standings" not in result
    assert "verified" not in result


def test_it_verifies(game, run):
    code, out, _ = run("replay", "territorial-5.replay", "--verify")
    assert (code, out.startswith("verified: 200 ticks, 1 checkpoints")) == (0, True)
    result = json.loads(run("replay", "territorial-5.replay", "--verify", "--json")[1])
    assert result["verified"] is True
    assert "config" not in result


def test_a_game_that_comes_out_differently_is_exit_code_1(game, run):
    dataclasses.replace(Replay.load("territorial-5.replay"), seed=6).save("territorial-5.replay")
    code, out, _ = run("replay", "territorial-5.replay", "--verify")
    assert (code, "NOT the same: the game differs at tick 200" in out) == (1, True)
    code, out, _ = run("replay", "territorial-5.replay", "--verify", "--json")
    result = json.loads(out)
    assert (code, result["verified"], "at tick 200" in result["difference"]) == (1, False, True)


def test_standings_are_those_of_the_game(game, done, result_of):
    assert result_of("replay", "territorial-5.replay", "--standings")["standings"] == game["standings"]
    table, _ = done("replay", "territorial-5.replay", "--standings")
    assert len([line for line in table.splitlines() if " P" in line]) == 4


def test_a_moment_is_a_table_and_a_picture(game, run, done, tmp_path):
    out, _ = done("replay", "territorial-5.replay", "--at", "110")
    assert "tick 110" in out
    assert "picture: territorial-5-110.png" in out
    png = (tmp_path / "territorial-5-110.png").read_bytes()
    height, width, _ = decode_png(png).shape
    assert width > height == 16 * 32
    arguments = ["replay", "territorial-5.replay", "--at", "110", "--picture", "then.png", "--json"]
    result = json.loads(run(*arguments)[1])
    assert ((tmp_path / "then.png").read_bytes(), result["picture"]) == (png, "then.png")
    then = Replay.load("territorial-5.replay").seek(110).state
    assert [row["land"] for row in sorted(result["standings"], key=lambda row: row["seat"])] == then.land[
        0, 1:
    ].tolist()
    assert [row["place"] for row in result["standings"]] == [1, 2, 3, 4]


def test_no_picture_means_none(game, run, tmp_path):
    code, out, _ = run("replay", "territorial-5.replay", "--at", "0", "--no-picture")
    assert (code, "tick 0" in out) == (0, True)
    assert [path.name for path in tmp_path.iterdir()] == ["territorial-5.replay"]
    assert out.count("  2.5 ") == 4, "at the start all seats share the places 1 to 4"


def test_a_file_that_is_no_replay_is_exit_code_1_and_one_line(game, run, tmp_path):
    data = (tmp_path / "territorial-5.replay").read_bytes()
    for content, reason in (
        (data[:-3], "cut short or altered"),
        (data[:40] + b"?" + data[41:], "cut short or altered"),
        (data[:8] + b"\2" + data[9:], "version 2 of the format"),
        (b"GIF89a", "its first bytes are not"),
    ):
        (tmp_path / "bad.replay").write_bytes(content)
        for command in (("replay", "bad.replay", "--verify"), ("watch", "bad.replay", "--page", "no.html")):
            code, out, err = run(*command)
            assert (code, out, len(err.splitlines())) == (1, "", 1)
            assert reason in err
            assert f"territorial {command[0]}: 'bad.replay': " in err
    assert not (tmp_path / "no.html").exists()


# ---- animations ------------------------------------------------------------------------------------


def test_a_replay_becomes_an_animation(game, done, tmp_path):
    out, _ = done("replay", "territorial-5.replay", "--animation")
    assert "animation: territorial-5.gif, 61 pictures, one every 10 ticks" in out
    pictures, seconds = decode_animation((tmp_path / "territorial-5.gif").read_bytes())
    assert sum(seconds) == pytest.approx(61 * 0.05)
    replay = Replay.load("territorial-5.replay")
    renderer = Renderer(4, names=replay.names, scale=10)
    for picture, frame in zip(pictures, replay.frames(10), strict=False):
        np.testing.assert_array_equal(
            picture, renderer.draw(frame.owner, frame.land, frame.troops, tick=frame.tick)
        )
    assert all((picture == pictures[20]).all() for picture in pictures[20:])
