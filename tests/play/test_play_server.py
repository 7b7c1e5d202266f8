"""The server of a game that is played: who may command, what is refused, and that the game goes on."""

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from territorial.browser import play_server as server_module
from territorial.browser.commands import LARGEST_COMMAND
from territorial.replay import Replay
from tests.play.sessions import FREE, SECONDS, Clock, now, served, wait_for
from tests.render.support import ask

PAGE = b"<!doctype html><p>the page</p>"
HOLD = b'{"do": "hold"}'


@pytest.fixture
def game(tmp_path):
    with served(page=PAGE, save=tmp_path / "game.replay") as game:
        yield game


def get(game, name="", token=None, host=None, method="GET"):
    path = game.path if token is None else token
    return ask(game.address, f"{method} {path}{name} HTTP/1.1\r\nHost: {host or game.host}\r\n\r\n".encode())


def post(game, body=HOLD, name="act", path=None, **headers):
    """The answer to a command as the page sends it, but for what is given."""
    sent = {
        "Host": game.host,
        "Origin": f"http://{game.host}",
        "Content-Type": "application/json",
        "Content-Length": len(body),
    }
    sent |= {key.replace("_", "-"): value for key, value in headers.items()}
    lines = [f"{key}: {value}" for key, value in sent.items() if value is not None]
    head = "\r\n".join([f"POST {game.path if path is None else path}{name} HTTP/1.1", *lines, "", ""])
    return ask(game.address, head.encode() + body)


def test_what_lies_under_the_token(game):
    assert (game.server.url, len(game.server.token)) == (f"http://{game.host}{game.path}", 22)
    assert get(game)[::2] == (200, PAGE)
    status, _, body = post(game, b'{"do": "launch", "target": 0, "share": 4}')
    assert (status, json.loads(body)["queued"]) == (200, {"target": FREE, "share": 4})
    wait_for(lambda: now(game.session)["tick"] == 10)
    game.session.stop()
    with pytest.raises(http.client.IncompleteRead):  # the game was not over
        get(game, "film")


def test_every_game_has_another_token(game, tmp_path):
    with served(page=PAGE, save=tmp_path / "other.replay", has_page=False) as other:
        assert other.server.token != game.server.token


def test_the_player_reads_the_newest_situation_line_by_line(game):
    connection = http.client.HTTPConnection(*game.address, timeout=SECONDS)
    connection.request("GET", f"{game.path}seat")
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "application/x-ndjson"
    assert json.loads(answer.readline())["tick"] == 0
    assert post(game)[0] == 200
    report = json.loads(answer.readline())
    while report["tick"] < 10:
        report = json.loads(answer.readline())
    assert report["tick"] == 10
    game.session.stop()
    assert answer.read() == b""
    connection.close()


@pytest.mark.parametrize("token", ["/", "/wrong/", "//", "/x", ""])
@pytest.mark.parametrize("name", ["", "film", "seat", "act"])
def test_nothing_is_served_without_the_token(game, token, name):
    path = token or game.path[:-2] + "/"  # all but its last letter
    assert get(game, name, token=path)[0] == 403
    status, _, body = post(game, name=name, path=path)
    assert status == 403
    assert game.server.token.encode() not in body
    assert now(game.session)["tick"] == 0


def test_a_token_without_its_slash_is_none(game):
    assert (get(game, token=game.path[:-1])[0], get(game, "elsewhere")[0]) == (403, 404)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "localhost.evil.example"])
def test_another_host_is_refused(game, host):
    assert (get(game, host=host or " ")[0], post(game, Host=host, Origin=f"http://{host}")[0]) == (403, 403)
    assert now(game.session)["tick"] == 0


def test_other_names_of_this_machine_are_its_own(game):
    port = game.address[1]
    for host in (f"localhost:{port}", "localhost:9000", f"127.0.0.1:{port}"):  # 9000: through ssh -L
        assert (get(game, host=host)[0], post(game, Host=host, Origin=f"http://{host}")[0]) == (200, 200)


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "http://localhost:1", "https://{host}", "http://{host}/", ""],
)
def test_another_origin_is_refused(game, origin):
    given = origin and origin.format(host=game.host)
    status, _, body = post(game, Origin=given)
    assert status == 403
    assert b"from the page of this server alone" in body
    assert now(game.session)["tick"] == 0


def test_commands_are_not_taken_by_get(game):
    for method in ("GET", "HEAD"):
        status, headers, _ = get(game, "act", method=method)
        assert (status, headers["Allow"]) == (405, "POST")
    for name in ("", "film", "seat"):
        assert post(game, name=name)[0] == 405
    assert (get(game, "act", method="DELETE")[0], now(game.session)["tick"]) == (405, 0)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b" " * 2048, {}, 413),
        (HOLD + b" " * (LARGEST_COMMAND + 1 - len(HOLD)), {}, 413),
        (HOLD, {"Content_Type": "text/plain"}, 415),
        (HOLD, {"Content_Type": None}, 415),
        (HOLD, {"Content_Length": None}, 411),
        (HOLD, {"Content_Length": "-1"}, 411),
        (HOLD, {"Content_Length": "9" * 30}, 411),
        (HOLD, {"Content_Length": "9" * 9}, None),
        (b"hold", {}, 400),
        (b'{"do": "fly"}', {}, 400),
        (b'{"do": "launch", "target": 1, "share": 0}', {}, 200),
        (b'{"do": "new", "level": "no", "players": 4, "map": null, "name": "Ada", "seed": null}', {}, 400),
        (b'{"do": "new", "level": null, "players": 4, "map": null, "name": "Ada", "seed": null}', {}, 200),
    ],
)
def test_what_is_no_command_is_refused_with_a_status(game, monkeypatch, body, headers, status):
    if status is None:  # it says that more will come, which does not
        monkeypatch.setattr("territorial.browser.server.REQUEST_SECONDS", 0.2)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            post(game, body, **headers)
    else:
        found, report, text = post(game, body, **headers)
        assert found == status
        if status in (200, 400):
            assert report["Content-Type"] == "application/json"
            assert json.loads(text)["error"]
    assert now(game.session)["tick"] == 0


def test_a_command_of_exactly_the_largest_size_is_taken(game):
    assert post(game, HOLD + b" " * (LARGEST_COMMAND - len(HOLD)))[0] == 200


def test_two_hundred_posts_are_answered_or_refused_and_the_game_goes_on(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("territorial.browser.session.time", clock)
    with served(page=PAGE, save=tmp_path / "game.replay", pace=Clock.PACE) as game:
        statuses, attack = [], b'{"do": "launch", "target": 0, "share": 1}'

        def post_many():
            for _ in range(25):
                statuses.append(post(game, attack)[0])
                clock.seconds += 10 / Clock.PACE

        with ThreadPoolExecutor(8) as threads:
            for _ in range(8):
                threads.submit(post_many)
        assert (len(statuses), set(statuses)) == (200, {200})
        while not now(game.session)["is_over"]:
            clock.pass_decisions(game.session)
    replay = Replay.load(tmp_path / "game.replay")
    replay.verify()
    ticks = replay.launches[replay.launches[:, 1] == 1][:, 0].tolist()
    assert ticks == sorted(set(ticks))  # a decision each, whatever was posted


def test_many_clients_that_do_not_come_to_the_point_keep_nobody_from_playing(tmp_path, monkeypatch):
    for name, number in (("MOST_UNKNOWN", 8), ("MOST_CONNECTIONS", 16), ("REQUEST_SECONDS", SECONDS)):
        monkeypatch.setattr(f"territorial.browser.server.{name}", number)
    with served(page=PAGE, save=tmp_path / "game.replay") as game:
        head = f"HTTP/1.1\r\nHost: {game.host}\r\nContent-Length: 100\r\n\r\n{{"
        half = ["", "G", "GET / HTTP/1.1\r\nHost: a\r\nB: ", f"POST /{'x' * 22}/act {head}"]
        half.append(f"POST {game.path}act {head}")

        def client(request):
            clients.append(socket.create_connection(game.address, timeout=SECONDS))
            clients[-1].sendall(request.encode())
            return clients[-1]

        clients = []
        for begin in 15 * half:
            client(begin)
            for one in clients[-4:]:
                one.sendall(b"c")  # it trickles in
            assert post(game, b'{"do": "pace", "pace": "step"}')[0] == get(game)[0] == 200
        wait_for(lambda: not any(game.server._is_admitted.values()))
        for _ in range(16):  # as many as are served at a time
            assert (
                client(f"GET {game.path}seat HTTP/1.1\r\nHost: {game.host}\r\n\r\n").recv(12)
                == b"HTTP/1.1 200"
            )
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            get(game)
        for one in clients:
            one.close()


def test_a_page_that_is_closed_is_noticed(tmp_path, monkeypatch):
    """Also while nothing happens: an empty line goes out now and then."""
    monkeypatch.setattr(server_module, "SECONDS_BETWEEN_LINES", 0.05)
    with served(page=PAGE, save=tmp_path / "game.replay", has_page=False) as game:
        connection = socket.create_connection(game.address, timeout=SECONDS)
        connection.sendall(f"GET {game.path}seat HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 200"
        wait_for(lambda: game.session._pages == 1)
        assert post(game)[0] == 200
        wait_for(lambda: now(game.session)["tick"] == 10)
        connection.close()
        wait_for(lambda: game.session._pages == 0)
        wait_for((tmp_path / "game.replay").exists)
    assert Replay.load(tmp_path / "game.replay").num_ticks == 10


def test_a_game_that_does_not_answer_is_told(tmp_path, monkeypatch):
    stuck = threading.Event()
    seats = ("agent", "agent", "turtle", "banker")
    with served(
        page=PAGE,
        save=tmp_path / "game.replay",
        seats=seats,
        policies={2: lambda game: stuck.wait(SECONDS) and (0, 0)},
    ) as game:
        assert post(game)[0] == 200
        monkeypatch.setattr("territorial.browser.session.ANSWER_SECONDS", 0.1)
        status, _, body = post(game)
        stuck.set()
    assert (status, json.loads(body)) == (503, {"error": "the game has not answered for 0.1 s"})
