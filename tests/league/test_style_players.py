"""Styles wherever a bot can be: contests, evaluations, leagues, environments and commands."""

import dataclasses
import json

import numpy as np
import pytest

import territorial
from territorial import GameConfig, Replay, Setting, bots, cli, evaluate, match, tournament
from territorial.bots import FreeLand, Move, Style
from territorial.evaluation.players import Cast, Entrants
from territorial.evaluation.results import ResultsError
from territorial.league import Group, League, LeagueConfig, LeagueTable, Learner, Opponents

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=400)
MINE = Style(name="mine-1", interval=50, free=FreeLand(send=120), second=Move(from_=60, send=(200, 400)))
OTHER = dataclasses.replace(MINE, interval=51)
COPY = dataclasses.replace(bots.make("banker").style, name="copy-1")
QUIET = {"processes": 1, "progress": False}


def placed(ranking):
    return [record.places for record in ranking.records]


def test_a_match_ranks_styles_and_a_copy_of_a_bot_as_that_bot():
    ranking = match([MINE, COPY, "turtle", "novice"], SMALL, 4, **QUIET)
    assert {line.player for line in ranking.standings} == {"mine-1", "copy-1", "turtle-1", "novice-1"}
    assert placed(ranking) == placed(match([MINE, "banker", "turtle", "novice"], SMALL, 4, **QUIET))


def test_a_style_of_a_file_is_the_style(tmp_path):
    MINE.save(tmp_path / "mine.json")
    named = [f"style:{tmp_path / 'mine.json'}", "banker", "novice"]
    assert placed(tournament(named, SMALL, 3, **QUIET)) == placed(
        tournament([MINE, "banker", "novice"], SMALL, 3, **QUIET)
    )
    assert Cast({}).seat(named[0]) == MINE
    (tmp_path / "mine.json").write_text("{}")
    with pytest.raises(ValueError, match=r"there is no style in .*mine\.json"):
        match(named, SMALL, 1, **QUIET)
    with pytest.raises(
        ValueError, match=r"the player is 'style:nowhere\.json', whose file cannot be read: No such file"
    ):
        match(["style:nowhere.json"], SMALL, 1, **QUIET)


def test_a_file_of_games_of_another_style_of_the_name_is_refused(tmp_path):
    out = tmp_path / "games.jsonl"
    match([MINE, "banker"], SMALL, 1, out=out, **QUIET)
    assert len(match([dataclasses.replace(MINE), "banker"], SMALL, 1, out=out, **QUIET).records) == 1
    with pytest.raises(ResultsError, match="mine-1"):
        match([dataclasses.replace(MINE, interval=51), "banker"], SMALL, 1, out=out, **QUIET)


def test_entrants_tell_styles_apart_by_name():
    assert Entrants([bots.make("banker").style, "banker"]).names == ("banker-1", "banker-1")
    assert Entrants([MINE, dataclasses.replace(MINE)]).names == ("mine-1", "mine-1")
    with pytest.raises(ValueError, match="mine-1: another player also has the name 'mine-1'"):
        Entrants([MINE, dataclasses.replace(MINE, interval=51)])
    with pytest.raises(ValueError, match="banker-1: a bot of the library has the name 'banker-1'"):
        Entrants([dataclasses.replace(COPY, name="banker-1", interval=7)])


def test_styles_are_evaluated_as_policies(tmp_path):
    setting = {"small": Setting(config=SMALL)}
    styles = {"copy": COPY, "mine": MINE}
    found = evaluate(styles | {"bot": "banker"}, setting, episodes=2, **QUIET)
    places = {name: [one.places for one in found.records if one.policy == name] for name in ("copy", "bot")}
    assert places["copy"] == places["bot"]
    out = tmp_path / "trials.jsonl"
    evaluate(styles, setting, episodes=1, out=out, **QUIET)
    with pytest.raises(ValueError, match="mine"):
        evaluate(styles | {"mine": OTHER}, setting, episodes=1, out=out, **QUIET)


def test_a_table_draws_styles_and_is_read_with_them():
    table = LeagueTable([Group(1, {"trainable:main": 1}), Group(3, {MINE: 2, "bot:novice": 1})])
    assert table.names("bot") == ["mine-1", "novice"]
    drawn = table.draw(np.random.default_rng(0))
    assert {player.seat for player in drawn[1:]} <= {MINE, "novice"}
    assert LeagueTable.from_json(table.to_json(), bots=[MINE]) == table
    twice = [Group(2, {MINE: 1}), Group(2, {dataclasses.replace(MINE): 1})]
    assert LeagueTable(twice).names("bot") == ["mine-1"]
    with pytest.raises(ValueError, match="two custom bots are called 'mine-1'"):
        LeagueTable([twice[0], Group(2, {dataclasses.replace(MINE, interval=51): 1})])
    with pytest.raises(ValueError, match="a style has the name 'banker-1', which the library has"):
        LeagueTable([Group(4, {dataclasses.replace(MINE, name="banker-1"): 1})])


def test_styles_are_bots_of_a_league(tmp_path):
    main = Learner(name="main", seats=2, opponents=(Opponents(seats=2, strategy="uniform", among=("bots",)),))
    config = LeagueConfig(num_players=4, learners=(main,), bots=("novice", MINE))
    league = League(config, rated=False)
    assert league.table().names("bot") == ["mine-1", "novice"]
    league.save(tmp_path / "league.npz")
    with pytest.raises(TypeError, match=r"python_bots\[0\] is 'novice'; it must be a custom bot"):
        dataclasses.replace(config, python_bots=("novice",))
    again = League.load(tmp_path / "league.npz", [dataclasses.replace(MINE)])
    assert again.table() == league.table()


@pytest.mark.parametrize("make", ["env", "parallel_env", "make_vec", "SeatEnv"])
def test_environments_take_styles(make):
    seats = ["agent", MINE, MINE, "mine-1"]
    many = {"num_envs": 2} if make == "make_vec" else {}
    env = getattr(territorial, make)(**many, config=SMALL, seats=seats)
    env.reset(seed=0)
    env.close()


def test_games_of_make_vec_may_have_a_style_each():
    styles = [dataclasses.replace(MINE, name=f"mine-{i}") for i in range(3)]
    env = territorial.make_vec(3, config=SMALL, seats=[["agent", style, "banker", style] for style in styles])
    env.reset(seed=0)
    assert [env.game.seats_of(k)[1] for k in range(3)] == ["mine-0", "mine-1", "mine-2"]


def test_an_environment_refuses_a_style_before_it_plays():
    with pytest.raises(ValueError, match="a style has the name 'turtle'"):
        territorial.parallel_env(config=SMALL, seats=["agent", dataclasses.replace(MINE, name="turtle")] * 2)


# ---- commands -------------------------------------------------------------------------------------

SIZES = ["--height", "24", "--width", "24", "--num-players", "4", "--set", "max_ticks=200"]


def test_commands_play_a_style_of_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MINE.save("mine.json")
    play = ["demo", "--seats", "style:mine.json,turtle", *SIZES, "--json", "-", "--replay", "game.tgr"]
    assert cli.main([*play, "--no-picture"]) == 0
    assert json.loads(capsys.readouterr().out)["seats"] == ["mine-1", "turtle-1"] * 2
    Replay.load("game.tgr").verify()
    contest = ["match", "--seats", "style:mine.json,turtle", "--games", "1", "--processes", "1", *SIZES]
    assert cli.main(contest) == 0
    assert "mine-1" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["demo", "watch", "match"])
def test_commands_say_what_is_wrong_with_a_style(tmp_path, capsys, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text(json.dumps(MINE.to_dict() | {"interval": 0}))
    for name, message in (
        ("bad", "Style.interval is 0; it must be"),
        ("gone", "cannot be read: No such"),
    ):
        with pytest.raises(SystemExit) as stopped:
            raise SystemExit(cli.main([verb, "--seats", f"style:{name}.json,turtle", *SIZES]))
        assert stopped.value.code == 2
        error = capsys.readouterr().err
        assert message in error
        assert "line-ups" not in error
