"""The server of the page: what it hands out, to whom, and what it refuses. Raw bytes on real sockets."""

import http.client
import io
import json
import socket
import threading
from types import SimpleNamespace

import pytest

from territorial.browser import server as serving_module
from territorial.browser.server import Feed, PageServer, RequestBytes
from tests.play.sessions import wait_for
from tests.render.support import ask, running

PAGE = b"<!doctype html><p>the page</p>"
# Against hanging: nothing takes so long, however busy the machine is.
SECONDS = 300


def serving(feed=None, **where):
    return running(PageServer(PAGE, feed or closed_feed(b"film"), **where))


def closed_feed(*pieces):
    feed = Feed()
    for piece in pieces:
        assert feed.append(piece)
    feed.close()
    return feed


def get(server, path="/", host=None, method="GET", version="1.1"):
    name = f"127.0.0.1:{server.server_address[1]}" if host is None else host
    return ask(server.server_address[:2], f"{method} {path} HTTP/{version}\r\nHost: {name}\r\n\r\n".encode())


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server


def test_a_server_for_the_whole_network_names_an_address_that_can_be_typed():
    with serving(host="0.0.0.0") as server:
        assert not server.is_loopback
        host = server.url.removeprefix("http://").partition(":")[0]
        has_network = serving_module._own_address(socket.AF_INET, "none") != "none"
        assert (host == "0.0.0.0") != has_network
        for one in (
            f"{host}:{server.server_address[1]}",
            "10.0.0.1:8765",
            "0.0.0.0",
            "localhost",
            "[2001:db8::1]",
        ):
            assert get(server, host=one)[0] == 200
        assert get(server, host="evil.example")[0] == 403


GUARDS = {
    "Connection": "close",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Server": "territorial",  # and no versions
}


def test_it_serves_the_page_and_the_film(server):
    status, headers, body = get(server)
    assert (status, body, headers["Content-Type"]) == (200, PAGE, "text/html; charset=utf-8")
    status, headers, body = get(server, "/film")
    assert (status, body, headers["Transfer-Encoding"]) == (200, b"film", "chunked")
    for sent in (get(server)[1], headers, get(server, "/none")[1]):
        assert sent | GUARDS == sent
        assert "Access-Control-Allow-Origin" not in sent


def test_it_serves_moments_where_it_has_any(server):
    def look(tick, seat, panel):
        if seat > 9:
            raise ValueError(f"seat is {seat}")
        return {"asked": [tick, seat, panel]}

    asked = ("/moment/10/3/advice", "/moment/10/3/agent_view")
    with serving(look=look) as able:
        for path in asked:
            status, headers, body = get(able, path)
            assert (status, headers["Content-Type"]) == (200, "application/json")
            assert json.loads(body) == {"asked": [10, 3, path.rpartition("/")[2]]}
        assert get(able, "/moment/10/10/advice")[0] == 404
        for path in (
            "/moment/10/3",
            "/moment/10/3/film",
            "/moment/-1/3/advice",
            f"/moment/{10**9}0/3/advice",
            "/moment/1/1/advice?",
        ):
            assert get(able, path)[0] == 404
        assert get(able, asked[0], host="evil.example")[0] == 403
    assert get(server, asked[0])[0] == 404


def test_old_clients_get_the_film_in_one_piece(server):
    status, headers, body = get(server, "/film", version="1.0")
    assert (status, body) == (200, b"film")
    assert "Transfer-Encoding" not in headers


def request_to(path="/", *, host="localhost", method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


NOWHERE = (
    *("/index.html", "/film/", "/film?x=1", "/?", "/page.html", "/../pyproject.toml", "/%2e%2e/film"),
    *("/page/page.js", "/favicon.ico", "http://127.0.0.1/", "film", "*", "/\x7f"),
)
OTHER_METHODS = ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get")
OWN_NAMES = (*("127.0.0.1", "127.0.0.1:80", "localhost", "LocalHost:1234", "127.9.9.9", "[::1]", "[::1]:99"),)
OTHER_NAMES = (
    *("", "evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil.example"),
    *("localhost.", "10.0.0.1", "0.0.0.0", "[2001:db8::1]", "127.0.0.1@evil.example", "2130706433"),
    *("0x7f.1", "localhost:x", "[::1", "::", ":80"),
)


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        *((request_to(path), 404) for path in NOWHERE),
        *((request_to(method=method), 405) for method in OTHER_METHODS),
        *((request_to(host=host), 200) for host in OWN_NAMES),
        *((request_to(path, host=host), 403) for host in OTHER_NAMES for path in ("/", "/film", "/none")),
        *((request_to(path, method="HEAD"), 200) for path in ("/", "/film")),
        (b"GET / HTTP/1.1\r\n\r\n", 403),  # no name
        (b"GET / HTTP/1.0\r\n\r\n", 403),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 403),  # two
    ],
)
def test_a_request_gets_the_page_alone_if_it_is_for_the_page_and_by_a_name_of_this_machine(
    server, request_, wanted
):
    status, headers, body = ask(server.server_address[:2], request_)
    assert (status, PAGE in body) == (wanted, wanted == 200 and not request_.startswith(b"HEAD"))
    assert headers.get("Allow") == ("GET, HEAD" if wanted == 405 else None)
    if wanted in (403, 405) or request_.startswith(b"HEAD"):
        assert b"film" not in body


def test_a_body_is_not_taken_for_another_request(server):
    inner = b"GET /film HTTP/1.1\r\nHost: localhost\r\n\r\n"
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner
    with socket.create_connection(server.server_address[:2], timeout=SECONDS) as connection:
        connection.sendall(request)
        received = b""
        try:
            while data := connection.recv(4096):
                received += data
        except ConnectionResetError:  # it closes without reading on
            pass
    assert received.count(b"HTTP/1.1") <= 1
    assert b"film" not in received


@pytest.mark.parametrize(
    "request_", [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\r\n\r\n"]
)
def test_what_is_no_request_does_no_harm(server, request_):
    with socket.create_connection(server.server_address[:2], timeout=SECONDS) as connection:
        connection.sendall(request_)
        connection.shutdown(socket.SHUT_WR)
        assert PAGE not in connection.recv(4096)
    assert get(server)[0] == 200


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, "http://127.0.0.1:"),
        ({"host": "localhost"}, "http://localhost:"),
        ({"host": "::1"}, "http://[::1]:"),
    ],
)
def test_it_can_be_called_by_the_name_it_was_given_or_that_of_the_loopback(given, url):
    if given == {"host": "::1"}:
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            pytest.skip(f"this machine has no IPv6: {error}")
    with serving(**given) as server:
        assert server.is_loopback
        assert server.url == f"{url}{server.server_address[1]}/"
        assert get(server, host=server.url[len("http://") : -1])[0] == 200


def test_a_second_server_cannot_take_the_port(server):
    with pytest.raises(OSError, match=r"."):
        PageServer(PAGE, Feed(), port=server.server_address[1])


# ---- films that are still growing ------------------------------------------------------------------


def test_a_film_is_sent_as_it_grows():
    feed = Feed()
    feed.append(b"one ")
    with serving(feed) as server:
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=SECONDS)
        connection.request("GET", "/film")
        answer = connection.getresponse()
        assert answer.read(4) == b"one "  # before there is any more
        feed.append(b"two ")
        assert answer.read(4) == b"two "
        feed.append(b"three")
        feed.close()
        assert answer.read() == b"three"
        connection.close()
        assert get(server, "/film")[2] == b"one two three"  # again, from the beginning


def test_a_film_that_was_given_up_does_not_look_whole():
    feed = Feed()
    feed.append(b"half a ")
    feed.close(is_whole=False)
    with serving(feed) as server, pytest.raises(http.client.IncompleteRead):
        get(server, "/film")


def test_a_closed_feed_takes_nothing():
    feed = closed_feed(b"all")
    assert not feed.append(b"more")
    feed.close(is_whole=False)  # only the first counts
    assert list(feed.pieces()) == [b"all"]


def test_a_watcher_that_leaves_does_no_harm(capfd):
    feed = Feed()
    feed.append(b"x")
    with serving(feed) as server:
        with socket.create_connection(server.server_address[:2]) as connection:
            connection.sendall(b"GET /film HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(10)
        for _ in range(200):
            feed.append(bytes(10_000))
        feed.close()
        assert len(get(server, "/film")[2]) == 2_000_001
    assert capfd.readouterr() == ("", "")  # no tracebacks


# ---- bounds ----------------------------------------------------------------------------------------


def closed_without_an_answer(server, request=b""):
    with socket.create_connection(server.server_address[:2], timeout=SECONDS) as connection:
        try:
            connection.sendall(request)
            return connection.recv(1) == b""
        except ConnectionError:
            return True


def num_threads(server):
    """How many threads answer requests of ``server``: other servers may have some left."""
    targets = (getattr(thread, "_target", None) for thread in threading.enumerate())
    return sum(
        getattr(target, "__self__", None) is server and target.__name__ == "process_request_thread"
        for target in targets
    )


def test_silent_clients_make_room_and_there_are_no_more_threads_than_connections(monkeypatch):
    monkeypatch.setattr(serving_module, "MOST_UNKNOWN", 4)
    monkeypatch.setattr(serving_module, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(serving_module, "REQUEST_SECONDS", SECONDS)
    feed, request = Feed(), b"GET /film HTTP/1.1\r\nHost: localhost\r\n\r\n"
    feed.append(b"one ")
    with serving(feed) as server:
        silent = [socket.create_connection(server.server_address[:2], timeout=SECONDS) for _ in range(20)]
        assert [connection.recv(1) for connection in silent[:-4]] == [b""] * 16
        wait_for(lambda: num_threads(server) == 4)
        for connection in silent[-2:]:  # as many as may watch
            connection.sendall(request)
            assert connection.recv(12) == b"HTTP/1.1 200"
        assert closed_without_an_answer(server, request)
        feed.close()
        for connection in silent:
            connection.close()
        wait_for(lambda: num_threads(server) == 0)


@pytest.mark.parametrize(
    ("begin", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", 431),
        (b"GET /", 414),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200, 431),
    ],
)
def test_a_request_without_end_is_refused_and_not_read_on(server, monkeypatch, begin, status):
    received, read = [], RequestBytes.readinto
    monkeypatch.setattr(
        RequestBytes, "readinto", lambda self, buffer: received.append(read(self, buffer)) or received[-1]
    )
    with socket.create_connection(server.server_address[:2], timeout=SECONDS) as connection:
        connection.sendall(begin + b"x" * serving_module.REQUEST_BYTES)
        assert connection.recv(12) == b"HTTP/1.1 %d" % status
    assert 0 < sum(received) <= serving_module.REQUEST_BYTES
    assert get(server)[0] == 200


class Dripping:
    """A socket that gives a byte at a time, each of which takes a second of the clock."""

    def __init__(self, monkeypatch):
        self.now, self.timeouts = 100.0, []
        monkeypatch.setattr(serving_module.time, "monotonic", lambda: self.now)

    def settimeout(self, seconds):
        self.timeouts.append(seconds)

    def recv_into(self, buffer, size):
        self.now += 1
        buffer[:1] = b"x"
        return 1


def test_a_request_has_to_come_within_some_seconds_however_it_trickles_in(monkeypatch):
    monkeypatch.setattr(serving_module, "time", SimpleNamespace(monotonic=None))
    connection = Dripping(monkeypatch)
    request = io.BufferedReader(RequestBytes(connection))
    with pytest.raises(TimeoutError, match="the request did not arrive within 10 s"):
        request.readline()
    assert connection.timeouts == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]


def test_a_client_that_is_out_of_time_is_let_go_of_without_a_word(monkeypatch, capfd):
    monkeypatch.setattr(serving_module, "REQUEST_SECONDS", 0)
    with serving() as server:
        assert closed_without_an_answer(server)
    assert capfd.readouterr() == ("", "")


def test_long_films_are_sent_in_pieces_each_with_time_of_its_own(monkeypatch):
    cuts, cut = [], serving_module._cut
    monkeypatch.setattr(serving_module, "_cut", lambda data: cuts.append([*map(len, cut(data))]) or cut(data))
    film = bytes(3 * serving_module.PIECE_BYTES + 1)
    with serving(closed_feed(film)) as server:
        assert get(server, "/film")[2] == film
    assert cuts == [[serving_module.PIECE_BYTES] * 3 + [1]]
