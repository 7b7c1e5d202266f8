"""``territorial watch``: the page with a game in it, from disk and from a server that a Ctrl-C stops."""

import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from itertools import takewhile
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import numpy as np
import pytest

import territorial
from territorial import cli
from territorial.engine.seats import shown_names
from territorial.evaluation.schedule import USUAL_SEATS
from territorial.replay import DivergedError, Replay, frame_of
from tests.render.film_reader import read_film
from tests.render.support import ask

SMALL = ["--height", "32", "--width", "48", "--num-players", "4", "--max-ticks", "400"]
SEATS = USUAL_SEATS[::8]
SECONDS = 300
# The command with a game that goes on until it is stopped, however slow the machine is.
ENDLESS = """
import itertools, runpy, time
from territorial.cli import watch

write_film = watch.film.write_film
endless = (time.sleep(0.01) or b"x" for _ in itertools.count())
watch.film.write_film = lambda *show: itertools.chain(write_film(*show), endless)
runpy.run_module("territorial", run_name="__main__")
"""


def film_of(page: bytes) -> bytes:
    held = re.search(rb'<script id="film" type="text/plain">([^<]*)</script>', page)
    assert held is not None
    return base64.b64decode(held[1])


def check_film(film: bytes, seed: int) -> None:
    """Compare a film with the game of ``seed``, played here and now."""
    header, frames, is_whole = read_film(film)
    assert is_whole
    assert header["names"] == list(shown_names(SEATS))
    config = territorial.GameConfig(height=32, width=48, num_players=4, max_ticks=400, map_seed=seed)
    game = territorial.VecGame(config, 1, seats=SEATS, autoreset="disabled", observe=False)
    game.reset(seeds=[seed])
    for frame in frames:
        np.testing.assert_array_equal(np.array(frame["owner"]), game.state.owner[0, 1:-1, 1:-1])
        assert (frame["tick"], frame["troops"]) == (game.state.tick[0], game.state.troops[0, 1:].tolist())
        if not game.state.over[0]:
            game.step()
    assert game.state.over[0]


# ---- as a file -------------------------------------------------------------------------------------


def test_export_writes_a_page_with_the_whole_game(done, tmp_path):
    path = tmp_path / "game.html"
    out, err = done("watch", "--page", str(path), "--seed", "5", *SMALL)
    assert f"page: {path} ({path.stat().st_size:,} bytes)" in out
    assert "tick 400 of 400 [####################]" in err
    check_film(film_of(path.read_bytes()), 5)


def test_export_tells_json_what_it_wrote(result_of, tmp_path):
    path = tmp_path / "game.html"
    result = result_of("watch", "live", "--page", str(path), "--every", "50", *SMALL)
    assert (result["page"], result["bytes"]) == (str(path), path.stat().st_size)
    assert result["film_bytes"] == len(film_of(path.read_bytes()))
    header, frames, _ = read_film(film_of(path.read_bytes()))
    assert header["title"] == result["title"] == "4 players, seed 0"
    assert [frame["tick"] for frame in frames] == list(range(0, 401, 50))


# ---- replays ---------------------------------------------------------------------------------------


@pytest.fixture
def replay(tmp_path, capsys):
    path = tmp_path / "game.replay"
    assert cli.main(["demo", "--no-picture", "--replay", str(path), "--seed", "5", *SMALL]) == 0
    capsys.readouterr()
    return path


def test_a_replay_gives_the_page_of_the_game_that_was_played(run, tmp_path, replay):
    for name, source in {"live.html": ["--seed", "5", *SMALL], "replay.html": [str(replay)]}.items():
        assert run("watch", "--page", str(tmp_path / name), *source)[0] == 0
    live, recorded = (film_of((tmp_path / f"{name}.html").read_bytes()) for name in ("live", "replay"))
    more = {"play_on": f"territorial play --from {replay}"}
    (header, *film), shown = read_film(live), read_film(recorded)
    assert (header | more, *film) == shown
    check_film(recorded, 5)


def test_a_page_shows_the_chances_of_a_replay_alone(done, tmp_path, replay):
    path = tmp_path / "game.html"
    done("watch", str(replay), "--page", str(path), "--chances")
    found = read_film(film_of(path.read_bytes()))[0]["chances"]
    assert (found["games"], found["agents"], len(found["ticks"])) == (50, "champion-1", 40)
    assert {len(row) for row in found["places"]} == {len(row) for row in found["wins"]} == {4}
    _, err = done("watch", "live", "--chances", code=2)
    assert "argument --chances: it needs the file of a replay" in err


@pytest.mark.parametrize("how", [["--page", "no.html"], ["--port", "0"]])
def test_a_replay_that_turns_out_differently_is_no_show(done, tmp_path, monkeypatch, replay, how):
    def frames(self, every):
        yield frame_of(self.seek(0))
        raise DivergedError("the game is over at tick 7")

    monkeypatch.setattr(Replay, "frames", frames)
    monkeypatch.chdir(tmp_path)
    _, err = done("watch", str(replay), *how, code=1)
    assert err == "territorial watch: the game is over at tick 7\n"
    assert [path.name for path in tmp_path.iterdir()] == ["game.replay"]


# ---- as a server -----------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["live game", "replay"])
def test_it_serves_a_game_until_it_is_interrupted(done, monkeypatch, replay, what):
    found = []

    def serve(server, poll_interval):
        thread = threading.Thread(target=serve_forever, args=(server, 0.01))
        thread.start()
        try:
            for path in (b"/", b"/film", b"/moment/50/1/agent_view", b"/moment/50/9/advice"):
                request = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
                found.append(ask(server.server_address[:2], request)[2])
        finally:
            server.shutdown()
            thread.join()
        raise KeyboardInterrupt

    serve_forever = cli.watch.PageServer.serve_forever
    monkeypatch.setattr(cli.watch.PageServer, "serve_forever", serve)
    out, err = done(
        "watch", *(["--seed", "5", *SMALL] if what == "live game" else [str(replay)]), "--port", "0", "--json"
    )
    page, film, moment, refused = found
    assert json.loads(moment)["num_actions"] == 51
    assert b"seat is 9; the game has the seats 1 to 4" in refused
    assert film_of(page) == b""
    check_film(film, 5)
    report = json.loads(out)
    assert urlsplit(report["url"]).netloc == f"127.0.0.1:{report['port']}"
    assert err.endswith("territorial watch: stopped\n")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent to whole consoles there, this one included")
def test_an_interrupt_stops_the_command_in_the_middle_of_a_game():
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, "watch", *SMALL, "--port", "0", "--json"],
        env=os.environ | {"PYTHONPATH": str(Path(territorial.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        report = json.loads("".join(takewhile(lambda line: line != "}\n", process.stdout)) + "}")
        connection = http.client.HTTPConnection("127.0.0.1", report["port"], timeout=SECONDS)
        connection.request("GET", "/film")
        answer = connection.getresponse()
        assert answer.read(100)
        process.send_signal(signal.SIGINT)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
        _, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert err.endswith("territorial watch: stopped\n")
    assert "Traceback" not in err


def test_a_game_that_fails_stops_the_server_and_is_told(capsys, run, monkeypatch):
    def broken(*args):
        yield b"x"
        raise RuntimeError("the game broke")

    monkeypatch.setattr(cli.watch.film, "write_film", broken)
    with pytest.raises(RuntimeError, match="the game broke"):
        run("watch", "--port", "0", *SMALL)
    assert "watch at http://127.0.0.1:" in capsys.readouterr().out


def test_it_says_when_others_can_watch_too(done, monkeypatch):
    monkeypatch.setattr(cli.watch.PageServer, "serve_forever", Mock(side_effect=KeyboardInterrupt))
    out, err = done("watch", "--port", "0", *SMALL)
    assert re.search(r"watch at http://127\.0\.0\.1:\d+/ \(Ctrl-C stops\)", out)
    assert "anyone" not in err
    _, err = done("watch", "--port", "0", "--host", "0.0.0.0", *SMALL)
    assert "anyone who can reach this machine can see the game (0.0.0.0)" in err


# ---- errors ----------------------------------------------------------------------------------------
