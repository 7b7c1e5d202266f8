"""Networks and styles, by their files and as objects, wherever the name of a bot can be: all but seats."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import territorial
from territorial import GameConfig, Replay, Setting, VecGame, cli, evaluate, match
from territorial.bots import FreeLand, Move, Network, Style
from territorial.datasets import make as make_dataset
from territorial.league import Group, League, LeagueConfig, LeagueTable, Learner, Opponents
from tests.bots.networks import random_file

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=300)
MINE = Style(name="mine-1", interval=50, free=FreeLand(send=120), second=Move(from_=60, send=(200, 400)))
QUIET = {"processes": 1, "progress": False}
SIZE = ["--height", "24", "--width", "24", "--num-players", "2", "--set", "max_ticks=200"]
NET, STYLE = "net:one.safetensors", "style:mine.json"
GONE = ["net:gone.safetensors", "style:gone.json"]
REFUSED = r"is '(net|style):gone\.(safetensors|json)', whose file cannot be read: No such file"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with a network and a style."""
    monkeypatch.chdir(tmp_path)
    random_file(
        Path("one.safetensors"), 1, interval=30, temperature=4000, candidate_width=16, context_width=16
    )
    MINE.save("mine.json")
    return tmp_path


def table_of(bot) -> LeagueTable:
    return LeagueTable([Group(1, {"trainable:main": 1}), Group(3, {bot: 2, "bot:novice": 1})])


def league_of(*bots) -> League:
    opponents = (Opponents(seats=3, strategy="uniform", among=("bots",)),)
    main = Learner(name="main", seats=1, opponents=opponents)
    return League(LeagueConfig(num_players=4, learners=(main,), bots=bots), rated=False)


# ---- seats -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["env", "parallel_env", "make_vec", "SeatEnv", "gymnasium"])
def test_seats_take_the_file_of_a_style(make):
    options = {"config": SMALL, "seats": ["agent", STYLE, NET, STYLE]}
    if make == "gymnasium":
        env = gymnasium.make("territorial/Territorial-v0", **options)
    else:
        many = {"num_envs": 2} if make == "make_vec" else {}
        env = getattr(territorial, make)(**many, **options)
    env.reset(seed=0)
    env.close()


def test_the_file_of_a_style_plays_as_the_style_and_its_name_can_be_used_again():
    games = [VecGame(SMALL, 2, seats=[bot, "banker", bot, "novice"], seed=3) for bot in (STYLE, MINE)]
    for game in games:
        game.reset()
        game.set_next(1, ["mine-1", STYLE, MINE, "banker"])
        for _ in range(60):
            game.step()
        assert game.seats_of(1)[:3] == ("mine-1",) * 3
    assert games[0].digest(0) == games[1].digest(0)


def test_the_name_of_a_network_says_what_its_file_does_not():
    changed = Network("one.safetensors", temperature=0.3, interval=70)
    named = VecGame(SMALL, 1, seats=[changed.text, changed.name, changed, "novice"])
    named.reset()
    assert named.seats_of(0)[:3] == (changed.name,) * 3
    assert changed.text == f"net:one.safetensors@{changed.digest[:8]},t=0.300781,every=70"


@pytest.mark.parametrize("bot", GONE)
@pytest.mark.parametrize(
    "use",
    [
        lambda bot: VecGame(SMALL, 1, seats=["banker", bot, bot, bot]),
        lambda bot: match(["banker", bot], SMALL, 1, **QUIET),
        lambda bot: evaluate([bot], {"small": Setting(config=SMALL)}, 1, **QUIET),
        lambda bot: evaluate(
            ["novice"], {"small": Setting(config=SMALL, seats=["agent", bot, bot, bot])}, 1, **QUIET
        ),
        lambda bot: make_dataset("rows", SMALL, ["banker", bot, bot, bot], games=1, processes=1),
        lambda bot: make_dataset("rows", SMALL, ["banker"] * 4, games=1, rows_of=[bot]),
        lambda bot: Group(1, {bot: 1}),
        lambda bot: Group(1, {f"bot:{bot}": 1}),
        lambda bot: league_of("novice", bot),
        lambda bot: league_of("novice").record(["trainable:main", f"bot:{bot}"], [1, 2]),
    ],
)
def test_a_file_that_is_missing_is_named(bot, use):
    with pytest.raises(ValueError, match=REFUSED):
        use(bot)


# ---- evaluations -----------------------------------------------------------------------------------


def test_settings_have_files_and_custom_bots_at_their_seats():
    def records(*seats):
        setting = Setting(config=SMALL, seats=["agent", *seats])
        return evaluate(["novice"], {"small": setting}, 2, **QUIET).records

    network = Network("one.safetensors")
    assert records(NET, STYLE, "banker") == records(network, MINE, "banker") != records(*["banker"] * 3)
    banker = territorial.bots.make("banker").style
    assert records(banker, banker, "banker") == records(*["banker"] * 3)


def test_an_evaluation_of_another_file_at_the_path_is_refused():
    seats = ["agent", NET, "novice", STYLE]
    settings = {"small": Setting(config=SMALL, seats=seats)}
    evaluate(["banker", NET], settings, 1, out="trials.jsonl", **QUIET)
    assert len(evaluate(["banker", NET], settings, 1, out="trials.jsonl", **QUIET).records) == 2
    dataclasses.replace(MINE, interval=51).save("mine.json")
    with pytest.raises(ValueError, match=r"policies\['mine-1'\] = 'mine-1@"):
        evaluate(["banker", NET], settings, 1, out="trials.jsonl", **QUIET)
    MINE.save("mine.json")
    random_file(Path("one.safetensors"), 2)
    with pytest.raises(ValueError, match=r"policies\['net:one\.safetensors'\] = 'net:one"):
        evaluate(["banker", NET], settings, 1, out="trials.jsonl", **QUIET)


def test_a_policy_and_a_seat_of_one_name_must_be_one_bot():
    settings = {"small": Setting(config=SMALL, seats=["agent", STYLE, "novice", "novice"])}
    assert evaluate([MINE], settings, 1, **QUIET).policies == ("mine-1",)
    with pytest.raises(ValueError, match=r"configs\['small'\]: seats\[1\]: a policy has the name 'mine-1'"):
        evaluate({"mine-1": "turtle"}, settings, 1, **QUIET)
    wrong = {"small": Setting(config=SMALL, seats=["agent", 3, "novice", "novice"])}
    with pytest.raises(TypeError, match=r"configs\['small'\]: seats\[1\]: player 0 is 3"):
        evaluate(["novice"], wrong, 1, **QUIET)


# ---- leagues ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bot", [NET, f"bot:{NET}"])
def test_a_table_with_a_network_is_written_and_read_by_its_path(bot):
    table, network = table_of(bot), Network("one.safetensors")
    assert table == table_of(network)
    written = json.loads(table.to_json())["groups"][1]["players"]
    assert written == {f"bot:net:one.safetensors@{network.digest[:8]}": 2, "bot:novice": 1}
    assert LeagueTable.from_json(table.to_json()) == table
    drawn = table.draw(np.random.default_rng(0))
    assert {player.seat for player in drawn[1:]} <= {network, "novice"}


def test_a_long_path_and_what_the_file_does_not_say_are_written_too(folder):
    long = folder / ("a" * 70)
    long.write_bytes(Path("one.safetensors").read_bytes())
    network = Network(long, temperature=0.5, interval=70)
    table, league = table_of(network), league_of("novice", network)
    assert str(folder) not in network.name
    assert LeagueTable.from_json(table.to_json()) == table
    league.record([str(player) for player in league.draw()], [1, 2, 3, 4])
    league.save("league.npz")
    again = League.load("league.npz")
    assert again.table() == league.table()
    assert again.to_bytes() == league.to_bytes()


def test_a_style_of_a_file_is_a_player_and_is_read_with_its_file():
    table = table_of(STYLE)
    assert table == table_of(MINE) == table_of(f"bot:{STYLE}")
    assert LeagueTable.from_json(table.to_json(), bots=[STYLE]) == table
    with pytest.raises(ValueError, match=r"bots\[0\] is 'style:gone\.json', whose file cannot be read"):
        LeagueTable.from_json(table.to_json(), bots=["style:gone.json"])


def test_a_table_or_a_league_whose_network_is_gone_or_another_one_names_its_path():
    network = Network("one.safetensors")
    table, league = table_of(network), league_of(network)
    league.save("league.npz")
    random_file(Path("one.safetensors"), 2)
    for load in (lambda: LeagueTable.from_json(table.to_json()), lambda: League.load("league.npz")):
        with pytest.raises(ValueError, match=r"one\.safetensors: its digest is .* asks for another file"):
            load()
    Path("one.safetensors").unlink()
    assert LeagueTable.from_json(table.to_json(), bots=[network]) == table
    assert League.load("league.npz", [network]).table() == league.table()
    for load in (lambda: LeagueTable.from_json(table.to_json()), lambda: League.load("league.npz")):
        with pytest.raises(ValueError, match=r"'net:one\.safetensors@\w{8}', whose file cannot be read"):
            load()


def test_a_league_takes_files_and_networks_as_bots(tmp_path):
    league = league_of("novice", NET, STYLE)
    network = Network("one.safetensors")
    assert league.config == league_of("novice", network, MINE).config
    assert dataclasses.replace(league.config, seed=3).python_bots == (network, MINE)
    assert league.table().names("bot") == ["mine-1", network.name, "novice"]
    league.record(["trainable:main", f"bot:{NET}", "bot:style:mine.json", "bot:novice"], [1, 2, 3, 4])
    assert league.payoff.names == ("trainable:main", f"bot:{network.name}", "bot:mine-1", "bot:novice-1")
    with pytest.raises(ValueError, match=r"bot:net:one.* is not a bot of this league"):
        league_of("novice").record(["trainable:main", f"bot:{NET}"], [1, 2])
    league.save("league.npz")
    again = League.load("league.npz", [STYLE])
    assert again.to_bytes() == pickle.loads(pickle.dumps(league)).to_bytes() == league.to_bytes()
    assert again.draw() == league.draw()


def test_league_show_reads_the_networks_of_a_league(capsys):
    league = league_of("novice", NET)
    league.record([str(player) for player in league.draw()], [1, 2, 3, 4])
    league.save("league.npz")
    assert cli.main(["league", "show", "league.npz"]) == 0
    assert "net:one.safetensors@" in capsys.readouterr().out


# ---- data sets and replays -------------------------------------------------------------------------


@pytest.mark.parametrize("bot", [NET, STYLE, Network, MINE])
def test_a_data_set_names_its_bots_by_what_is_in_their_files(bot):
    bot = Network("one.safetensors") if bot is Network else bot
    names = {STYLE: "mine-1", MINE: "mine-1"}
    options = {"games": 1, "processes": 1}
    made = make_dataset("rows", SMALL, [bot, "novice"] * 2, rows_of=[bot], **options)
    name = names.get(bot, Network("one.safetensors").name)
    assert made.recipe.seats == [name, "novice"] * 2
    assert made.recipe.rows_of == [name]
    assert made.rows == make_dataset("seats", SMALL, [bot, "novice"] * 2, rows_of=[1, 3], **options).rows > 0


def test_replays_verify_without_the_files(capsys):
    seats = f"{STYLE},{NET}"
    assert cli.main(["demo", *SIZE, "--seats", seats, "--no-picture", "--replay", "game.replay"]) == 0
    for name in ("mine.json", "one.safetensors"):
        Path(name).unlink()
    replay = Replay.load("game.replay")
    replay.verify()
    assert replay.seats[0] == "mine-1"
    assert set(replay.launches[:, 1]) == {1, 2}
    assert cli.main(["replay", "game.replay", "--verify"]) == 0
    assert "verified" in capsys.readouterr().out


# ---- commands --------------------------------------------------------------------------------------

COMMANDS = {
    "demo": [
        "--seats",
        f"{NET},{STYLE}",
        "--picture",
        "game.png",
        "--animation",
        "game.gif",
        "--page",
        "a.html",
    ],
    "watch": ["--seats", f"{NET},{STYLE}", "--page", "game.html"],
    "match": ["--seats", f"{NET},{STYLE}", "--games", "2", "--processes", "1", "--records", "games.jsonl"],
    "tournament": ["--players", f"{NET},{STYLE},novice", "--games", "2", "--processes", "1"],
    "dataset": ["rows", "--seats", f"{NET},{STYLE}", "--rows-of", NET, "--games", "1", "--processes", "1"],
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_commands_take_the_files_of_networks_and_styles(verb, capsys):
    assert cli.main([verb, *COMMANDS[verb], *SIZE]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        raise SystemExit(cli.main([verb, *(text.replace(NET, GONE[0]) for text in COMMANDS[verb]), *SIZE]))
    assert stopped.value.code == 2
    assert "'net:gone.safetensors', whose file cannot be read: No such file" in capsys.readouterr().err
