"""Bots in Python, styles and networks, by name, by file and as objects, wherever a bot can be."""

import dataclasses
import json
import pickle
import textwrap
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import territorial
from territorial import GameConfig, Replay, Scenario, VecGame, bots, cli, evaluate, match
from territorial.bots import FreeLand, Move, Network, Style
from territorial.evaluation.players import Entrants, identity_of, named_bot
from territorial.evaluation.record import ResultsError
from territorial.league import Group, League, LeagueConfig, Learner, LineUpDistribution, Opponents
from territorial.training import make as make_dataset
from tests.bots.networks import random_file

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=300)
MINE = Style(name="mine-1", interval=50, free=FreeLand(send=12), second=Move(from_=60, send=(20, 40)))
OTHER = dataclasses.replace(MINE, interval=51)
COPY = dataclasses.replace(bots.make("banker").style, name="copy-1")
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


def table_of(bot) -> LineUpDistribution:
    return LineUpDistribution([Group(1, {"trainable:main": 1}), Group(3, {bot: 2, "bot:novice": 1})])


def league_of(*players) -> League:
    opponents = (Opponents(seats=3, strategy="uniform", among=("bots",)),)
    main = Learner(name="main", seats=1, opponents=opponents)
    return League(LeagueConfig(num_players=4, learners=(main,), bots=players), rated=False)


# ---- bots in Python ----------------------------------------------------------------------------------


def test_a_bot_may_lie_in_the_current_folder(folder):
    (folder / "mine_for_a_test.py").write_text(
        textwrap.dedent(
            """
            from territorial.bots import PythonBot
            class Mine(PythonBot):
                name = "mine-1"
                def decide(self, view):
                    return -1, 1
            class Other: pass
            class Nameless(Mine):
                name = "turtle"
            class Sized(Mine):
                def __init__(self, size): ...
            class Abstract(PythonBot):
                name = "abstract-1"
            class Broken(Mine):
                def __init__(self): 1 // 0
            """
        )
    )
    (folder / "wrong_for_a_test.py").write_text("class Mine(\n")
    (folder / "raises_for_a_test.py").write_text("1 // 0\n")
    entrants = Entrants(["banker", "mine_for_a_test:Mine", "mine_for_a_test:Mine"])
    assert entrants.names == ("banker-1", "mine-1", "mine-1")
    assert list(entrants.players) == ["banker-1", "mine-1"], "one bot has all its seats"
    for text, message in (
        ("mine_for_a_test:Other", "is not a subclass of territorial.bots.PythonBot"),
        ("mine_for_a_test:Nobody", "cannot be loaded: .*Nobody"),
        ("no_such_module:Mine", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("wrong_for_a_test:Mine", "'wrong_for_a_test:Mine' cannot be loaded: SyntaxError: .*line 1"),
        ("raises_for_a_test:Mine", "cannot be loaded: ZeroDivisionError: "),
        ("mine_for_a_test:Sized", "cannot be made without arguments: TypeError: .*'size'"),
        ("mine_for_a_test:Abstract", "cannot be made without arguments: TypeError: .*abstract.*decide"),
        ("mine_for_a_test:Broken", "cannot be made without arguments: ZeroDivisionError: "),
        ("mine_for_a_test:Nameless", "has the name 'turtle'; it must be a string that is not the name of"),
        ("wizard", "there is no bot 'wizard'"),
    ):
        with pytest.raises(ValueError, match=message):
            Entrants(["banker", text])


def test_the_code_of_a_bot_is_its_file_and_those_of_its_bases(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    base, bot = folder / "base_for_a_test.py", folder / "bot_for_a_test.py"
    base.write_text(
        "from territorial.bots import PythonBot\n"
        "class Base(PythonBot):\n    name = 'b-1'\n    def decide(self, view):\n        return -1, 1\n"
    )
    bot.write_text("from base_for_a_test import Base\nclass Bot(Base): pass\n")
    found = []
    for path in (base, bot, bot):
        found += [
            (Entrants([name, "turtle"]).code["b-1"], identity_of(named_bot(name)))
            for name in ["bot_for_a_test:Bot"] * 2
        ]
        path.write_text(path.read_text() + "# changed\n")
    for report in zip(*found, strict=True):
        assert [report.index(one) for one in report] == [0, 0, 2, 2, 4, 4]
    assert Entrants(["turtle"]).code == {}


def test_entrants_tell_styles_apart_by_name():
    assert Entrants([bots.make("banker").style, "banker"]).names == ("banker-1", "banker-1")
    assert Entrants([MINE, dataclasses.replace(MINE)]).names == ("mine-1", "mine-1")
    with pytest.raises(ValueError, match="player 1: another player has the name 'mine-1'"):
        Entrants([MINE, OTHER])
    with pytest.raises(ValueError, match="player 0: 'banker-1' is the name of a built-in bot"):
        Entrants([dataclasses.replace(COPY, name="banker-1", interval=7)])


# ---- seats -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["env", "parallel_env", "make_vec", "SeatEnv", "gymnasium"])
def test_environments_have_files_and_styles_at_their_seats(make):
    options = {"config": SMALL, "seats": ["agent", STYLE, NET, MINE]}
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
        game.set_next_game(1, ["mine-1", STYLE, MINE, "banker"])
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
        lambda bot: evaluate([bot], {"small": Scenario(config=SMALL)}, 1, **QUIET),
        lambda bot: evaluate(
            ["novice"], {"small": Scenario(config=SMALL, seats=["agent", bot, bot, bot])}, 1, **QUIET
        ),
        lambda bot: make_dataset("rows", SMALL, ["banker"] * 4, games=1, rows_of=[bot]),
        lambda bot: Group(1, {f"bot:{bot}": 1}),
        lambda bot: league_of("novice", bot),
        lambda bot: league_of("novice").record(["trainable:main", f"bot:{bot}"], [1, 2]),
    ],
)
def test_a_file_that_is_missing_is_named(bot, use):
    with pytest.raises(ValueError, match=REFUSED):
        use(bot)


# ---- matches and evaluations -------------------------------------------------------------------------


def test_files_and_copies_of_bots_play_as_what_they_are(folder):
    def match_of(*seats):
        return [record.places for record in match(seats, SMALL, 2, **QUIET).records]

    def evaluation_of(*seats):
        scenario = Scenario(config=SMALL, seats=["agent", *seats])
        return [record.places for record in evaluate(["novice"], {"small": scenario}, 2, **QUIET).records]

    named, made = (STYLE, NET, COPY), (MINE, Network("one.safetensors"), "banker")
    for places_of in (match_of, evaluation_of):
        assert places_of(*named) == places_of(*made) != places_of("banker", "banker", "banker")
    Path("mine.json").write_text("{}")
    with pytest.raises(ValueError, match=r"there is no style in .*mine\.json"):
        match(named, SMALL, 1, **QUIET)


def test_games_with_another_file_at_the_path_are_refused():
    scenarios = {"small": Scenario(config=SMALL, seats=["agent", NET, "novice", STYLE])}

    def played():
        match([STYLE, NET], SMALL, 1, out="match.jsonl", **QUIET)
        return evaluate(["banker", NET], scenarios, 1, out="trials.jsonl", **QUIET)

    played()
    assert len(played().records) == 2
    OTHER.save("mine.json")
    for call in (played, lambda: evaluate(["banker", NET], scenarios, 1, out="trials.jsonl", **QUIET)):
        with pytest.raises(ResultsError, match=r"code\['mine-1'\] is '"):
            call()
    MINE.save("mine.json")
    random_file(Path("one.safetensors"), 2)
    with pytest.raises(ResultsError, match=r"code\['net:one\.safetensors'\] is 'net:one"):
        evaluate(["banker", NET], scenarios, 1, out="trials.jsonl", **QUIET)


def test_a_policy_and_a_seat_of_one_name_must_be_one_bot():
    scenarios = {"small": Scenario(config=SMALL, seats=["agent", STYLE, "novice", "novice"])}
    assert evaluate([MINE], scenarios, 1, **QUIET).policies == ("mine-1",)
    with pytest.raises(ValueError, match=r"configs\['small'\]: seats\[1\]: another .* name 'mine-1'"):
        evaluate({"mine-1": "turtle"}, scenarios, 1, **QUIET)
    wrong = {"small": Scenario(config=SMALL, seats=["agent", 3, "novice", "novice"])}
    with pytest.raises(TypeError, match=r"configs\['small'\]: seats\[1\] is 3"):
        evaluate(["novice"], wrong, 1, **QUIET)


# ---- leagues ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bot", [NET, f"bot:{NET}"])
def test_a_table_with_a_network_is_written_and_read_by_its_path(bot):
    table, network = table_of(bot), Network("one.safetensors")
    assert table == table_of(network)
    written = json.loads(table.to_json())["groups"][1]["players"]
    assert written == {f"bot:net:one.safetensors@{network.digest[:8]}": 2, "bot:novice": 1}
    assert LineUpDistribution.from_json(table.to_json()) == table
    drawn = table.draw(np.random.default_rng(0))
    assert {player.bot or player.name for player in drawn[1:]} <= {network, "novice"}


def test_a_table_has_styles_and_is_read_with_them():
    table = table_of(STYLE)
    assert table == table_of(MINE) == table_of(f"bot:{STYLE}")
    assert LineUpDistribution.from_json(table.to_json(), bots=[STYLE]) == table
    with pytest.raises(ValueError, match=r"bots\[0\] is 'style:gone\.json', whose file cannot be read"):
        LineUpDistribution.from_json(table.to_json(), bots=["style:gone.json"])
    twice = [Group(2, {MINE: 1}), Group(2, {dataclasses.replace(MINE): 1})]
    assert LineUpDistribution(twice).names("bot") == ["mine-1"]
    with pytest.raises(ValueError, match="two custom bots are called 'mine-1'"):
        LineUpDistribution([twice[0], Group(2, {OTHER: 1})])
    with pytest.raises(ValueError, match="a style has the name 'banker-1', which belongs to another"):
        LineUpDistribution([Group(4, {dataclasses.replace(MINE, name="banker-1"): 1})])


def test_a_table_or_a_league_whose_network_is_gone_or_another_one_names_its_path():
    network = Network("one.safetensors")
    table, league = table_of(network), league_of(network)
    league.save("league.npz")
    random_file(Path("one.safetensors"), 2)
    for load in (lambda: LineUpDistribution.from_json(table.to_json()), lambda: League.load("league.npz")):
        with pytest.raises(ValueError, match=r"one\.safetensors: its digest is .* which is not that of"):
            load()
    Path("one.safetensors").unlink()
    assert LineUpDistribution.from_json(table.to_json(), bots=[network]) == table
    assert League.load("league.npz", [network]).table() == league.table()
    for load in (lambda: LineUpDistribution.from_json(table.to_json()), lambda: League.load("league.npz")):
        with pytest.raises(ValueError, match=r"'net:one\.safetensors@\w{8}', whose file cannot be read"):
            load()


def test_a_league_takes_files_networks_and_styles_as_bots(folder, capsys):
    network = Network("one.safetensors")
    league = league_of("novice", NET, STYLE)
    assert league.config == league_of("novice", network, MINE).config
    assert dataclasses.replace(league.config, seed=3).python_bots == (network, MINE)
    with pytest.raises(TypeError, match=r"python_bots\[0\] is 'novice'; it must be a custom bot"):
        dataclasses.replace(league.config, python_bots=("novice",))
    assert league.table().names("bot") == ["mine-1", network.name, "novice"]
    league.record(["trainable:main", f"bot:{NET}", "bot:style:mine.json", "bot:novice"], [1, 2, 3, 4])
    assert league.payoff.names == ("trainable:main", f"bot:{network.name}", "bot:mine-1", "bot:novice-1")
    with pytest.raises(ValueError, match=r"bot:net:one.* is not a bot of this league"):
        league_of("novice").record(["trainable:main", f"bot:{NET}"], [1, 2])
    league.save("league.npz")
    with pytest.raises(ValueError, match=r"bots has 'mine-1'; .* given as objects"):
        League.load("league.npz")
    again = League.load("league.npz", [STYLE])
    assert again.to_bytes() == pickle.loads(pickle.dumps(league)).to_bytes() == league.to_bytes()
    assert again.draw() == league.draw()
    long = folder / ("a" * 70)
    long.write_bytes(Path("one.safetensors").read_bytes())
    far = Network(long, temperature=0.5, interval=70)
    league_of("novice", far).save("league.npz")
    assert str(folder) not in far.name
    assert League.load("league.npz").table() == league_of("novice", far).table()
    assert cli.main(["league", "show", "league.npz"]) == 0
    assert far.name in capsys.readouterr().out


# ---- data sets, replays and commands ---------------------------------------------------------------


@pytest.mark.parametrize("bot", [STYLE, Network])
def test_a_data_set_names_its_bots_by_what_is_in_their_files(bot):
    bot = Network("one.safetensors") if bot is Network else bot
    options = {"games": 1, "processes": 1}
    made = make_dataset("rows", SMALL, [bot, "novice"] * 2, rows_of=[bot], **options)
    name = "mine-1" if bot is STYLE else bot.name
    assert (made.recipe.seats, made.recipe.rows_of) == ([name, "novice"] * 2, [name])
    assert made.rows == make_dataset("seats", SMALL, [bot, "novice"] * 2, rows_of=[1, 3], **options).rows > 0


def test_replays_verify_without_the_files(capsys):
    seats = f"{STYLE},{NET}"
    assert cli.main(["demo", *SIZE, "--seats", seats, "--no-picture", "--replay", "game.replay"]) == 0
    for name in ("mine.json", "one.safetensors"):
        Path(name).unlink()
    replay = Replay.load("game.replay")
    replay.verify()
    assert (replay.seats[0], set(replay.launches[:, 1])) == ("mine-1", {1, 2})


COMMANDS = {
    "demo": ["--no-picture"],
    "watch": ["--page", "game.html"],
    "match": ["--games", "1", "--processes", "1"],
    "dataset": ["rows", "--rows-of", NET, "--games", "1", "--processes", "1"],
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_commands_take_the_files_of_networks_and_styles(verb, capsys):
    Path("bad.json").write_text(json.dumps(MINE.to_dict() | {"interval": 0}))
    for text, code, message in (
        (NET, 0, ""),
        (GONE[0], 2, "'net:gone.safetensors', whose file cannot be read: No such file"),
        ("style:bad.json", 2, "Style.interval is 0; it must be"),
    ):
        assert cli.main([verb, *COMMANDS[verb], "--seats", f"{text},{STYLE}", *SIZE]) == code
        assert message in capsys.readouterr().err
