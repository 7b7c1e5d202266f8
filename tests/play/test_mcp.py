"""Language models at a seat: the messages of their clients, their tools, and the games that they play."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import territorial
from territorial.browser import host
from territorial.browser.commands import PlayerCommand, Wish
from territorial.browser.hosting import Hosting, HostingError
from territorial.browser.mcp import BOUNDS, VERSIONS, ModelBot
from territorial.replay import Replay
from tests.episodes import begun
from tests.play.mcp_clients import Client, model_and_client
from tests.play.sessions import FREE, HOLD, NAMES, SMALL, launch, now, session_of, wait_for

ASK = {"jsonrpc": "2.0", "id": 7}
CALL = {**ASK, "method": "tools/call"}
UNGREETED = [
    (b"junk", -32700, "not JSON"),
    (b"\xff\xfe", -32700, "not JSON"),
    (b'{"a": 1, "a": 2}', -32700, "occurs twice"),
    (b"[" * 1000, -32700, "nested more than 32 deep"),
    (b'"' + b"x" * 10 * BOUNDS.nbytes + b'"', -32700, "bytes; it must have at most 65,536"),
    (7, -32600, "it must be an object"),
    ([{**ASK, "method": "ping"}], -32600, "it must be an object"),
    ({"id": 7, "method": "ping"}, -32600, '"jsonrpc": "2.0"'),
    ({**ASK, "method": 5}, -32600, "a method"),
    ({**ASK, "id": True, "method": "ping"}, -32600, "a text or a whole number as its id"),
    ({**ASK, "id": [7], "method": "ping"}, -32600, "a text or a whole number as its id"),
    ({**ASK, "method": "ping", "params": [1]}, -32602, "params is [1]; it must be an object"),
    ({**ASK, "method": "initialize"}, -32602, "protocolVersion is None; it must be a text"),
    ({**ASK, "method": "tools/list"}, -32600, "initialize, which must come first"),
    (CALL, -32600, "initialize, which must come first"),
]
GREETED = [
    ({**ASK, "method": "resources/list"}, -32601, "no method 'resources/list'; there are initialize, ping"),
    ({**CALL, "params": {"name": "resign"}}, -32602, "name must be one of look, forecast, decide"),
    ({**CALL, "params": {"name": ["look"]}}, -32602, "name must be one of look, forecast, decide"),
    ({**CALL, "params": {"name": "look", "arguments": [1]}}, -32602, "arguments an object"),
]


@pytest.mark.parametrize(("message", "code", "reason"), UNGREETED + GREETED)
def test_what_is_no_request_is_refused_and_the_next_is_answered(message, code, reason):
    greeting = {**ASK, "method": "initialize", "params": {"protocolVersion": "1999-01-01"}}
    first = [greeting] if (message, code, reason) in GREETED else []
    note, last = {"jsonrpc": "2.0", "method": "notifications/cancelled"}, {**ASK, "id": "z", "method": "ping"}
    lines = [json.dumps(one).encode() for one in (*first, note, message, last) if not isinstance(one, bytes)]
    if isinstance(message, bytes):
        lines.insert(1, message)
    (stdin, sends), (receives, stdout) = os.pipe(), os.pipe()
    model = ModelBot(stdin, stdout)
    with os.fdopen(receives, "rb") as answers, os.fdopen(sends, "wb") as out:
        out.write(b"\r\n\n" + b"\n".join(lines) + b'\n{"half a mess')
        out.close()
        *greeted, refused, pong = [json.loads(answers.readline()) for _ in (*first, message, last)]
    assert [one["result"]["protocolVersion"] for one in greeted] == [VERSIONS[-1]] * len(first)
    assert (refused["error"]["code"], pong) == (code, {"jsonrpc": "2.0", "id": "z", "result": {}})
    assert reason in refused["error"]["message"]
    wait_for(lambda: model.has_left)
    model.client.close()


# ---- tools -----------------------------------------------------------------------------------------


@pytest.fixture
def seated():
    """A game with a model at seat 1, the model, and what calls a tool and plays until it is answered."""
    config = territorial.GameConfig(height=24, width=24, num_players=3, map="open", max_ticks=2000)
    with model_and_client() as (model, client):
        game = begun(
            territorial.VecGame(config, 1, seats=[model, "metronome", "random"], autoreset="disabled"),
            seeds=[3],
        )
        model.sit(game, ("model", "Mona", "random"), lambda: None)

        def call(tool, **fields):
            client.send("tools/call", name=tool, arguments=fields)
            wait_for(lambda: model.client.calls)
            while model.attend() and model._stay is not None:
                game.step()
            return client.told()

        yield game, model, call


@pytest.mark.parametrize(
    ("tool", "fields", "reason"),
    [
        ("look", {"target": 1}, "look has the field 'target'"),
        ("decide", {"target": 0}, "percent is None; it must be a whole number from 1 to 100"),
        ("decide", {"percent": 5}, "target is None"),
        ("decide", {"target": "0", "percent": 5}, "target is '0'; it must be a whole number from 0 to 3"),
        ("decide", {"target": 4, "percent": 5}, "target is 4; it must be a whole number from 0 to 3"),
        ("decide", {"target": 1, "percent": 5}, "target is 1: this is your own land; legal now: [0]"),
        ("decide", {"target": 2, "percent": 5}, "target is 2: P2 is too far: your land does not touch it"),
        ("decide", {"target": 0, "percent": 0}, "percent is 0; it must be a whole number from 1 to 100"),
        ("decide", {"wait": 101}, "wait is 101; it must be a whole number from 1 to 100"),
        ("forecast", {}, "target is None"),
        ("forecast", {"target": 0, "percent": 25.5}, "percent is 25.5"),
        ("forecast", {"target": 0, "percent": 25, "wait": 1}, "forecast has the field 'wait'"),
    ],
)
def test_a_call_that_cannot_be_done_says_what_would_be_right(seated, tool, fields, reason):
    _, _, call = seated
    assert call(tool, **fields).startswith(reason)
    assert call("look")["tick"] == 0


def test_a_decision_is_answered_when_its_time_is_over_or_the_seat_is_attacked_or_out(seated):
    _, _, call = seated
    told = [call("decide", wait=wait) for wait in (1, 3, 100, 100)]
    assert [(one["tick"], one["happened"]) for one in told] == [
        (10, []),
        (40, []),
        (410, ["P3 random attacks you with 2,783 troops"]),
        (420, ["you are out"]),
    ]
    assert (told[3].pop("happened"), told[3]["place"]) == (["you are out"], 3)
    for tool, fields in (("look", {}), ("decide", {}), ("forecast", {"target": FREE, "percent": 1})):
        assert call(tool, **fields) == told[3]  # there is nothing left to decide


def test_decisions_are_launched_and_answered_when_the_target_is_out_and_at_the_end(seated):
    game, _, call = seated
    happened, found = [], call("look")
    assert found["names"] == ["free land", "model", "Mona", "random"]
    foreseen = game.forecasts(0, 1, FREE, 512)
    assert call("forecast", target=FREE, percent=50) == foreseen
    while not game.state.over[0]:
        weakest = min(found["legal"], key=lambda q: found["troops"][q] / max(1, found["land"][q]))
        found = call("decide", target=weakest, percent=50, wait=100)
        happened += found["happened"]
    assert game.state.taken[0, 1, FREE] > foreseen["cells"] > 0
    assert "P3 random is out" in happened
    assert (happened[-1], found["place"], found["winners"]) == ("the game is over", 2, [2])


def test_another_game_answers_a_decision_and_may_have_no_seat_for_the_model(seated, monkeypatch):
    game, model, call = seated
    step = game.step
    other = begun(territorial.VecGame(SMALL, 1, seats=["turtle"] * 4, autoreset="disabled"), seeds=[1])
    monkeypatch.setattr(game, "step", lambda: (step(), model.sit(other, NAMES, lambda: None)))
    assert call("decide", wait=5) == "another game has begun"
    assert call("look").startswith("you have no seat in this game")


# ---- games -----------------------------------------------------------------------------------------


def test_it_plays_against_a_person_and_each_waits_for_the_other(save):
    with model_and_client() as (model, client):
        table = {"seats": ("agent", model, "turtle", "banker"), "players": {"model": model}}
        with session_of(save, names=("Ada", "model", "turtle", "banker"), **table) as session:
            first = client.call("look")
            assert (first["seat"], first["tick"]) == (2, 0)
            session.submit(launch(FREE, 5))
            assert json.loads(session.submit(PlayerCommand("aim", target=FREE, share=5)))["tick"] == 0
            assert client.call("decide", target=FREE, percent=20)["tick"] == 10
            client.send("tools/call", name="decide", arguments={"wait": 2})
            for tick in (10, 20):
                assert json.loads(session.submit(HOLD))["tick"] == tick
                wait_for(lambda tick=tick: now(session)["tick"] > tick)
            assert client.told()["tick"] == 30
            client.sends.close()  # then it holds
            session.submit(HOLD)
            wait_for(lambda: now(session)["tick"] == 40)
        wait_for(lambda: session._is_ended)
    replay = Replay.load(save)
    replay.verify()
    assert [tuple(row) for row in replay.launches.tolist() if row[1] < 3] == [(0, 1, 0, 192), (0, 2, 0, 204)]


def test_the_calls_of_a_client_that_has_gone_are_answered_before_the_game_ends(save):
    with model_and_client() as (model, client):
        client.send("tools/call", name="decide", arguments={"wait": 3})
        client.sends.close()
        wait_for(lambda: model.client.has_ended)
        seats = {"seats": (model, "novice", "turtle", "banker"), "players": {"model": model}}
        with session_of(save, seat=0, has_page=False, **seats) as session:
            wait_for(lambda: session._is_ended)
        assert client.told()["tick"] == Replay.load(save).num_ticks == 30


def test_python_hosts_a_model_which_stays_when_another_level_is_wished(tmp_path):
    game = {"height": 32, "width": 32, "num_players": 4}
    with model_and_client() as (model, client):
        hosting = Hosting(config=game, level="hard", opponents=[model], seat=2, save=tmp_path / "a.replay")
        assert hosting.sitting.names == ("impossible", "person", "model", "very_hard")
        wished = hosting.wished(Wish("easy", 3, None, "Ada", 5))
        assert wished.sitting.names == ("easy", "Ada", "model")
        assert (wished._title, replace(wished, spectate=True)._title) == (
            "You against 2 players",
            "3 players",
        )
        with pytest.raises(HostingError, match="opponents: 2 seats for the model"):
            Hosting(opponents=[model, model])
        with pytest.raises(HostingError, match="level: 'hard' selects the bots"):
            Hosting(opponents=[model, "turtle"], level="hard")
        where = {"save": tmp_path / "game.replay", "port": 0, "is_opened": False}
        with host(game, opponents=[model], spectate=True, seed=5, **where):
            found = client.play(wait=30)
        assert (found["seat"], found["names"][1]) == (1, "model")
    Replay.load(tmp_path / "game.replay").verify()


@contextmanager
def command(folder, *arguments):
    """Give ``territorial play`` with a model, and its client."""
    options = ["--port", "0", "--no-open", "--seed", "5", "--save", "game.replay", *arguments]
    process = subprocess.Popen(
        [sys.executable, "-m", "territorial", "play", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(territorial.__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield process, Client(process.stdin, process.stdout)
        finally:
            process.kill()


def test_a_client_plays_a_whole_game_of_the_command(tmp_path):
    with command(tmp_path, "--mcp", "--level", "easy") as (process, client):
        found = client.play(wait=30)
        assert client.call("look")["place"] == found["place"]
        out, err = process.communicate(timeout=300)
    assert (out, process.returncode) == (b"", 0)
    assert re.match(rb"play at http://\S+ \(Ctrl-C stops\)\n", err)
    assert f"replay of {found['tick']:,} ticks: game.replay" in err.decode()
    assert (len(found["names"]), client.calls <= 100, client.longest <= 3 * 1024) == (33, True, True)
    replay = Replay.load(tmp_path / "game.replay")
    replay.verify()
    assert (replay.config.height, replay.names[0], replay.num_ticks) == (256, "model", found["tick"])


@pytest.mark.parametrize("number", [None, "SIGINT", "SIGTERM"])
@pytest.mark.parametrize("calls", [0, 1])
def test_the_command_ends_with_its_client_and_when_it_is_asked_to(tmp_path, number, calls):
    who = ["--mcp"] if calls else ["--opponent", "mcp"]
    with command(tmp_path, *who, "--set", "height=32", "--set", "width=32", "--num-players", "4") as (
        process,
        client,
    ):
        assert process.stderr.readline().startswith(b"play at http://")
        for _ in range(calls):
            assert client.call("decide", target=FREE, percent=10, wait=5)["tick"] == 50
        if number is not None:
            process.send_signal(getattr(signal, number))
            process.wait(300)
        out, err = process.communicate(timeout=300)
    assert (out, process.returncode) == (b"", 0)
    assert b"replay of 50 ticks: game.replay" in err if calls else b"no replay: the game has not begun" in err
