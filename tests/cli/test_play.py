"""``territorial play``: who sits where, what is refused before a game begins, and what is printed."""

import json
import re
import socket
import sys
import webbrowser
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from territorial import GameConfig, VecGame, browser, cli
from territorial.bots import PythonBot
from territorial.bots.style import Style
from territorial.browser import hosting
from territorial.browser.commands import LEVELS, PlayerCommand, Wish, WishError
from territorial.browser.page_image import LIBRARY
from territorial.browser.play_server import PlayServer
from territorial.cli import play
from territorial.evaluation.intervals import wilson
from territorial.evaluation.schedule import CHAMPION
from territorial.replay import Replay
from tests.league.support import Takes
from tests.play.sessions import HOLD, decide, wait_for

BOARD = ["--set", "height=32", "--set", "width=32"]
OWN_BOT = """from territorial.bots import PythonBot


class Patient(PythonBot):
    name = 'patient'

    def decide(self, view):
        return None
"""
SMALL = [*BOARD, "--num-players", "4", "--set", "max_ticks=200"]


def table_of(*arguments, **fields):
    parsed = cli.make_parser(with_plugins=False).parse_args(["play", *arguments])
    resolved = replace(play.hosting_of(parsed), **fields).resolved()
    return SimpleNamespace(config=resolved.game_config, **resolved.sitting._asdict())


def test_the_bots_of_a_level_are_dealt_to_the_seats_after_the_person():
    for level, bots in LEVELS.items():
        dealt = [*bots, *bots, *bots, *bots]
        assert table_of(*SMALL, "--level", level).seats == ["agent", *dealt[:3]]
        assert table_of(*SMALL, "--level", level, seat=3).seats[3:] == dealt[:1]
        assert table_of(*SMALL, "--level", level, "--spectate").seats == dealt[:4]
    assert table_of().seats == table_of("--level", play.DEFAULT_LEVEL).seats


class Beginner(PythonBot):
    """Takes free land while there is any, then attacks a neighbour that is weaker by far, or else waits."""

    name = "beginner"
    interval = 3 * play.DEFAULT_PACE  # three seconds

    def decide(self, view):
        weakest, is_free = view.least(view.troops), view.legal[:, 0]
        is_weak = (weakest > 0) & (2 * view.troops[view.rows, weakest] < view.own(view.troops))
        return np.where(is_free, 0, np.where(is_weak, weakest, -1)), np.where(is_free, 256, 512)


@pytest.mark.verify
def test_a_beginner_wins_fewer_games_from_level_to_level_and_half_of_them_at_moderate():
    """With -s it prints the table of docs/playing.md."""
    won, places, games = {}, [], 400
    for level in LEVELS:
        table = table_of("--level", level, "--seed", "1", "--set", "num_maps=8")
        seats = [Beginner(), *table.seats[1:]]
        game = VecGame(table.config, games, seats=seats, autoreset="disabled", observe=False)
        game.reset(seed=1)
        while not game.state.over.all():
            game.step()
        won[level] = wilson(np.mean(game.state.doubled_place[:, 1] == 2), games)
        places.append(game.state.doubled_place[:, 1].mean() / 2)
        sys.stdout.write(f"{level}: mean place {places[-1]:.1f}, games won {won[level]}\n")
    assert (places, list(won)) == (sorted(places), sorted(won, key=lambda level: -won[level].value))
    assert 0.4 <= won["moderate"].value <= 0.6


def test_who_is_named_plays_instead_of_a_level():
    assert table_of("--opponent", "turtle").names[:3] == ("person", "turtle", "metronome")
    assert table_of(*SMALL, seats=("banker", "turtle")).names == ("person", "turtle", "banker", "turtle")


def test_opponents_sit_next_to_the_person_round_the_table():
    two = ("--opponent", "turtle", "--opponent", "novice")
    novice, _, *others = table_of(*SMALL, *two, seat=3, name="Ada").names
    assert (novice, others) == ("novice", ["Ada", "turtle"])
    first, *others = table_of(*SMALL, "--spectate", "--opponent", "turtle").names
    assert (first, "person" in others) == ("turtle", False)


def test_an_opponent_of_a_file_or_a_class(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Style(name="mine-1", interval=50).save(tmp_path / "mine.json")
    (tmp_path / "my_bot.py").write_text(OWN_BOT)
    table = table_of(*SMALL, "--opponent", "style:mine.json", "--opponent", "my_bot:Patient")
    assert table.names[1:3] == ("mine-1", "patient")


def test_the_champion_advises_a_person_unless_it_is_to_be_another():
    assert table_of(*SMALL).advisor.name == CHAMPION
    assert table_of(*SMALL, "--advisor", "turtle").advisor == "turtle-1"
    assert table_of(*SMALL, "--spectate").advisor is None


class Sender(Takes):
    """A policy of observations that always sends all to free land."""

    frames = 2

    def start(self, config, layout, seed):
        assert layout.frames == 2
        return lambda game, games, seats: [(1, 9)] * len(seats)


def test_python_hosts_policies_classes_and_bots(tmp_path):
    path = tmp_path / "game.replay"
    others = {
        "opponents": ["mine", Beginner, Style(name="tenacious", interval=50)],
        "policies": {"mine": Sender()},
    }
    where = {"save": path, "port": 0, "is_opened": False}
    game = GameConfig(height=32, width=32, num_players=4, max_ticks=200)
    with browser.host(game, **others, advisor=Sender(), pace="step", **where) as hosted:
        wait_for(lambda: hosted.session.situations.count)
        with hosted.session.page_open():
            hosted.session.submit(PlayerCommand("pause"))
            decide(hosted.session, HOLD)
    assert hosted.replays == {path: 10}
    replay = Replay.load(path)
    assert replay.names == ("person", "mine", "beginner", "tenacious")
    assert (0, 2, 0, 1024) in map(tuple, replay.launches.tolist())
    path.write_text("a diary")
    seat = "seat: 5; it must be from 1 to 4"
    for wrong, message in (
        ({"seat": 5, "save": None}, seat),
        ({"name": "", "save": None}, "name: "),
        ({"name": "a\nb", "save": None}, "name: "),
        ({"name": "turtle", "save": None}, "name: .*'turtle', which is the name of a bot"),
        ({"advisor": "turtle", "spectate": True}, "advisor: 'turtle' has no seat to advise"),
        ({}, "save: .* not a replay"),
    ):
        with pytest.raises(browser.HostingError, match=message):
            browser.host(game, **(where | wrong))


@pytest.mark.parametrize(
    ("arguments", "level", "players", "message"),
    [
        (["--opponent", "turtle"] * 4, None, 3, "players is 3; the command line requires at least 5"),
        ([], "easy", 250, "players is 250; each spawn takes 12 cells .* so it must be at most 85"),
    ],
)
def test_a_wish_is_refused_in_words_of_the_card_and_the_next_takes_the_file(
    tmp_path, monkeypatch, arguments, level, players, message
):
    save = tmp_path / "game.replay"
    save.touch()  # which may be written over, as it is empty

    def serve_forever(server, poll_interval):
        wish = Wish(level, players, None, "Ada", None)
        with pytest.raises(WishError, match=f"^{message}$"):
            server.session.submit(PlayerCommand("new", wish=wish))
        server.session.submit(PlayerCommand("new", wish=wish._replace(players=5, seed=7)))
        kind = f"{level} bots" if level else "players"
        assert server.session.table[3:5] == (save, f"You against 4 {kind}, game 2")
        raise KeyboardInterrupt

    monkeypatch.setattr(PlayServer, "serve_forever", serve_forever)
    where = ["--no-open", "--port", "0", "--save", str(save)]
    assert cli.main(["play", *BOARD, "--num-players", "6", *arguments, *where]) == 0


def interrupted(server, poll_interval):
    wait_for(lambda: server.session.situations.count)
    raise KeyboardInterrupt


def test_it_says_where_it_serves_and_warns_of_other_addresses(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PlayServer, "serve_forever", interrupted)
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert cli.main(["play", *SMALL, "--port", "0", "--host", "0.0.0.0", "--seed", "5"]) == 0
    out, err = capsys.readouterr()
    assert out == f"play at {opened[0]} (Ctrl-C stops)\n"
    assert "//127." not in opened[0]
    assert "anyone who can reach this machine and gets this address, unencrypted as it is, can play" in err
    assert err.endswith("no replay: the game has not begun\n")
    assert cli.main(["play", *SMALL, "--port", "0", "--no-open"]) == 0
    assert "anyone" not in capsys.readouterr().err
    assert (len(opened), list(tmp_path.iterdir())) == (1, [])


def test_a_place_that_cannot_be_served_on_is_refused_before_anything_is_compiled(capsys, monkeypatch):
    monkeypatch.setattr(hosting, "begin", Mock(side_effect=AssertionError("it would compile")))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for where in (["--host", "192.0.2.1"], ["--port", str(taken.getsockname()[1])]):
            for verb in (["play", "--no-open"], ["watch"]):
                assert cli.main([*verb, *SMALL, *where]) == 2
                assert "arguments --host, --port: cannot serve on" in (err := capsys.readouterr().err)
                assert ("--port" not in where) or "--port 0 takes a free port" in err


def test_every_game_has_another_seed_unless_one_is_given(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin, begun = hosting.begin, []
    monkeypatch.setattr(PlayServer, "serve_forever", interrupted)
    monkeypatch.setattr(hosting, "begin", lambda *given, **more: begun.append(given) or begin(*given, **more))
    for arguments in ([], [], ["--seed", "5"], ["--seed", "5", "--set", "map_seed=8"]):
        assert cli.main(["play", *SMALL, "--port", "0", "--no-open", *arguments]) == 0
    seeds = [(seed, config.map_seed) for config, _, seed in begun]
    assert seeds[2:] == [(5, 5), (5, 8)]
    assert len({seed for seed, map_seed in seeds[:3] if seed == map_seed}) == 3


def test_a_page_plays_games_of_bots_and_refuses_all_others(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not LIBRARY.exists():
        pytest.skip("there is no library of pages; `python maintainers/machine_code.py native web` makes it")
    Style(name="mine-1", interval=50).save(tmp_path / "mine.json")
    (tmp_path / "my_bot.py").write_text(OWN_BOT)
    _, err = done("play", "--page", "game.html", "--seed", "3", "--opponent", "style:mine.json", *SMALL)
    size = (tmp_path / "game.html").stat().st_size
    assert err.endswith(f"territorial play: page: game.html ({size:,} bytes); it opens in any browser\n")
    engine = json.loads(re.search(rb'id="engine"[^>]*>([^<]+)<', (tmp_path / "game.html").read_bytes())[1])
    assert (engine["person"], engine["card"]["seed"], list(engine["line_ups"])) == (1, "3", [""])
    assert engine["line_ups"][""]["seats"][:2] == ["agent", "mine-1"]
    for options, message in (
        (["--spectate"], "argument --spectate, --mcp: it must not be set"),
        (["--opponent", "my_bot:Patient"], "argument --opponent: must be bots of rules and networks"),
        (["--page", "no/such.html"], "no"),
    ):
        _, err = done("play", "--page", "game.html", *options, *SMALL, code=2)
        assert message in err
