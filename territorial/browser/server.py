"""HTTP server of one page and its film, on the standard library."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, LineTooLong
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

MOST_CONNECTIONS = 128
"""Connections that are served at a time, each by a thread; one more is closed unanswered."""
MOST_UNKNOWN = 64
"""Connections that have not said yet what is asked for; one more ends the oldest of them."""
REQUEST_SECONDS = 10
"""In these the whole of a request must have come, however it is split."""
REQUEST_BYTES = 2**14
"""A request that is longer is refused; browsers send about 1 KB."""
SECONDS_WITHOUT_PROGRESS = 30
"""After these a client that has not taken PIECE_BYTES is disconnected."""
PIECE_BYTES = 2**16
DEFAULT_PORT = 8765

Look = Callable[[int, int, str], Any]
"""``look(tick, seat, panel)`` returns what a panel shows of a seat, as values that JSON has; it may raise
ValueError."""
MOMENT = re.compile(r"/moment/(\d{1,9})/(\d{1,3})/(advice|agent_view)")

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Feed:
    """Bytes that one thread appends while any number of others read them, each from the beginning.

    ``has_newest_alone``: a piece takes the place of the one before, and threads that are slow miss some.
    """

    def __init__(self, *, has_newest_alone: bool = False) -> None:
        self._pieces: list[bytes] = []
        self._has_newest_alone, self._num_gone = has_newest_alone, 0
        self._is_closed = self._is_whole = False
        self._changed = threading.Condition()

    def append(self, piece: bytes) -> bool:
        """Add bytes at the end; False, and nothing is added, if the feed has been closed."""
        with self._changed:
            if self._is_closed:
                return False
            if self._has_newest_alone:
                self._num_gone += len(self._pieces)
                self._pieces.clear()
            self._pieces.append(piece)
            self._changed.notify_all()
            return True

    @property
    def count(self) -> int:
        """The number of pieces that have been added."""
        return self._num_gone + len(self._pieces)

    def close(self, *, is_whole: bool = True) -> None:
        """Say that nothing more will come; ``is_whole`` is False if something is missing.

        Only the first call counts.
        """
        with self._changed:
            if not self._is_closed:
                self._is_closed, self._is_whole = True, is_whole
                self._changed.notify_all()

    def pieces(self, seconds: float | None = None) -> Iterator[bytes]:
        """Yield all bytes, waiting for future ones; ConnectionAbortedError if some will never come.

        After so many ``seconds`` without any it yields none, which is b"".
        """
        new, at = self.read(0, seconds)
        while new is not None:
            yield new
            new, at = self.read(at, seconds)
        if not self._is_whole:
            raise ConnectionAbortedError("the film was abandoned")

    def read(self, at: int = 0, seconds: float | None = None) -> tuple[bytes | None, int]:
        """Return the bytes after the first ``at`` pieces, once there are any, and the number of pieces.

        After so many ``seconds`` it is nothing; at the end it is None.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self.count > at, seconds)
            is_end = self._is_closed and self.count == at
            return None if is_end else b"".join(self._pieces[max(0, at - self._num_gone) :]), self.count


class PageServer(ThreadingMixIn, TCPServer):
    """Serves ``page`` at ``/`` and ``film`` at ``/film``, to GET and HEAD, and nothing else.

    With ``look`` it also serves, at ``/moment/TICK/SEAT/PANEL``, what that returns, as JSON.

    Requests must name this very server in their Host header, or the pages of other sites could read
    what is served here once their name is made to lead here (DNS rebinding). A server on a
    loopback address is called by that, or ``localhost``; others by ``host`` or any numeric address, which
    no other site can redirect. ``port`` 0 takes a free one. ``handler`` answers requests; a subclass may
    serve more. Raises OSError if it cannot listen.

    A connection is unknown until ``admit`` has counted it among those that are served. The oldest unknown
    ones make room for newer ones, so any number of silent and slow clients keeps no prompt one waiting.
    """

    allow_reuse_address = os.name != "nt"  # there it would share the port with its owner
    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS  # with fewer, clients that come at once wait for a second

    def __init__(
        self,
        page: bytes,
        film: Feed,
        host: str = "127.0.0.1",
        port: int = 0,
        handler: type[PageHandler] | None = None,
        look: Look | None = None,
    ) -> None:
        self.page, self.film, self.host, self.look = page, film, host, look
        self._is_admitted = dict[socket.socket, bool]()  # by connection, the oldest first
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        self.address_family = family
        super().__init__((str(address[0]), port), handler or PageHandler)
        self.is_loopback = ip_address(str(self.server_address[0]).partition("%")[0]).is_loopback

    @property
    def url(self) -> str:
        """Where the page is; a server that listens on all addresses has that at which others reach it."""
        listens = ip_address(str(self.server_address[0]).partition("%")[0])
        host = _own_address(self.address_family, self.host) if listens.is_unspecified else self.host
        name = f"[{host}]" if ":" in host else host
        return f"http://{name}:{self.server_address[1]}/"

    def is_own_name(self, host: str) -> bool:
        """Whether the Host header ``host`` can only mean this server."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        name = name.removeprefix("[").removesuffix("]").lower()
        if name in ("localhost", self.host.lower()):
            return True
        try:
            return ip_address(name).is_loopback or not self.is_loopback
        except ValueError:
            return False

    def get_request(self) -> tuple[socket.socket, Any]:
        """Return the next connection, and close the oldest unknown one if there are too many."""
        request, address = super().get_request()
        self._is_admitted[request] = False
        unknown = [one for one, is_admitted in list(self._is_admitted.items()) if not is_admitted]
        for one in unknown[:-MOST_UNKNOWN]:
            with suppress(OSError):  # it has just ended by itself
                one.shutdown(socket.SHUT_RDWR)  # which wakes its thread
        return request, address

    def admit(self, request: Any) -> None:
        """Count a connection among those that are served; ConnectionAbortedError if there are too many."""
        self._is_admitted[request] = True
        if sum(list(self._is_admitted.values())) > MOST_CONNECTIONS:
            raise ConnectionAbortedError(f"there are {MOST_CONNECTIONS} connections")

    def shutdown_request(self, request: Any) -> None:
        """End a connection, however it went, and give its room back."""
        super().shutdown_request(request)
        self._is_admitted.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over connections that the other side closed or that ran out of time."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class Serving(AbstractContextManager["Serving"]):
    """A server and the work that makes its content, a thread each, until ``stop``.

    It has the ``url`` of the page.

    Args:
        server: it listens already, as the work may have to compile.
        work: what is done; its error ends the server, and ``wait`` raises it.
        stop: lets the work end, and returns whether that is soon, so that it is waited for.

    """

    def __init__(self, server: PageServer, work: Callable[[], None], stop: Callable[[], bool]) -> None:
        self.server, self.url, self._stop_work = server, server.url, stop
        self._failures = list[BaseException]()
        answer = partial(server.serve_forever, poll_interval=0.1)
        self._answering, self._working = (
            threading.Thread(target=self._run, args=(task,), daemon=True) for task in (answer, work)
        )
        self._answering.start()
        self._working.start()

    def wait(self) -> None:
        """Return when the server no longer answers, or raise the error that ended it."""
        while self._answering.is_alive():
            self._answering.join(0.1)  # Ctrl-C does not end a longer wait on Windows
        if self._failures:
            raise self._failures.pop(0)

    def stop(self) -> None:
        """End the work and the server, for good."""
        self._end_answers()
        self._working.join(None if self._stop_work() else 1)  # it may be compiling for minutes
        self.server.server_close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop, and raise the error of the work, unless there is another one."""
        self.stop()
        if kind is None:
            self.wait()

    def _run(self, task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            self._failures.append(error)
            self._end_answers()

    def _end_answers(self) -> None:
        if self._answering.is_alive() and threading.current_thread() is not self._answering:
            self.server.shutdown()


class RequestBytes(io.RawIOBase):
    """The bytes of a request, bounded in length and in time.

    Reading raises TimeoutError REQUEST_SECONDS after the beginning, and LineTooLong beyond REQUEST_BYTES.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._room = connection, REQUEST_BYTES
        self._until = time.monotonic() + REQUEST_SECONDS

    def readable(self) -> bool:  # noqa: D102  # as in its base class
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes into ``buffer`` and return how many; 0 at the end."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the request did not arrive within {REQUEST_SECONDS} s")
        if not self._room:
            raise LineTooLong(f"a request of {REQUEST_BYTES:,} bytes")
        self._connection.settimeout(left)
        count = self._connection.recv_into(buffer, min(len(buffer), self._room))
        self._room -= count
        return count


class PageHandler(BaseHTTPRequestHandler):
    """One connection, one request."""

    server: PageServer
    protocol_version = "HTTP/1.1"

    def version_string(self) -> str:
        """Return the value of the header ``Server``, without versions."""
        return "territorial"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name it has there)
        """Say nothing on stderr."""

    def setup(self) -> None:
        """Read requests within bounds."""
        super().setup()
        self.rfile.close()  # it would wait again for every byte, and for any number of them
        self.rfile = io.BufferedReader(RequestBytes(self.connection))

    def handle_one_request(self) -> None:
        """Answer a request, even if its first line never ends."""
        try:
            super().handle_one_request()
        except HTTPException:
            self.requestline = self.request_version = self.command = ""
            self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG)

    def parse_request(self) -> bool:
        """Return whether there is a request; the answer then has a time limit of its own."""
        is_whole = super().parse_request()
        self.connection.settimeout(SECONDS_WITHOUT_PROGRESS)
        return is_whole

    def end_headers(self) -> None:
        """Send the headers that all answers have, and end them."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def __getattr__(self, name: str) -> Any:
        """The method of a request is looked up as ``do_`` and its name, whatever that is."""
        if name in ("do_GET", "do_HEAD"):
            return self.answer
        if name.startswith("do_"):
            return self.refuse_method
        raise AttributeError(name)

    def answer(self) -> None:
        """Send the requested resource."""
        if self.names_server():
            self.server.admit(self.connection)
            asked = MOMENT.fullmatch(self.path)
            if asked is None or self.server.look is None:
                self.send(self.path, {"/": self.send_page, "/film": self.send_film})
                return
            try:
                shown = self.server.look(int(asked[1]), int(asked[2]), asked[3])
                content = json.dumps(shown, separators=(",", ":")).encode()
            except ValueError as error:
                self.send_error(HTTPStatus.NOT_FOUND, explain=str(error))
            else:
                self.send_content("application/json", [content], len(content))

    def names_server(self) -> bool:
        """Return whether the request names this very server; if not, it is refused."""
        hosts = self.headers.get_all("Host", [])
        is_own = len(hosts) == 1 and self.server.is_own_name(hosts[0])
        if not is_own:
            self.send_error(HTTPStatus.FORBIDDEN, "This server has another name")
        return is_own

    def send(self, name: str, served: Mapping[str, Callable[[], None]]) -> None:
        """Send the entry of ``served`` with this name."""
        if name in served:
            served[name]()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def refuse_method(self, allowed: str = "GET, HEAD") -> None:
        """Say which methods there are."""
        self.send_response(HTTPStatus.METHOD_NOT_ALLOWED)
        self.send_header("Allow", allowed)
        self.end({"Content-Length": "0"})

    def send_page(self) -> None:
        """Send the page."""
        self.send_content("text/html; charset=utf-8", [self.server.page], len(self.server.page))

    def send_film(self, film: Feed | None = None) -> None:
        """Send a film, by default the server's, and the rest as it grows."""
        self.send_content("application/octet-stream", (film or self.server.film).pieces())

    def send_content(
        self,
        kind: str,
        pieces: Iterable[bytes],
        length: int | None = None,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> None:
        """Send bytes of a content type as they come, in chunks if the client supports them."""
        is_chunked = length is None and self.request_version >= "HTTP/1.1"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end({"Transfer-Encoding": "chunked"} if is_chunked else {})
        if self.command == "HEAD":
            return
        for piece in (part for new in pieces for part in _cut(new)):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def end(self, headers: dict[str, str]) -> None:
        """Send the last headers; later bytes of the client are not read."""
        for name, value in {"Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()


def _own_address(family: int, otherwise: str) -> str:
    """Return the address from which this machine would send to the internet; no packet is sent."""
    beyond = "2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1"  # of nobody: RFC 3849, RFC 5737
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((beyond, 9))
        except OSError:  # no network
            return otherwise
        return str(probe.getsockname()[0])


def _cut(data: bytes) -> Iterator[bytes]:
    """Yield ``data`` in pieces, each of which gets time of its own to be taken."""
    for at in range(0, len(data), PIECE_BYTES):
        yield data[at : at + PIECE_BYTES]
