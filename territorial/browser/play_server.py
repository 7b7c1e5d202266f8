"""HTTP server of the play page: page, film, situations and commands."""

import json
import secrets
import sys
from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus

from territorial.browser.commands import LARGEST_COMMAND, WishError, read_command
from territorial.browser.server import PageHandler, PageServer
from territorial.browser.session import BusyError, RefusedError, Session
from territorial.config.validation import whole_number_in

ACT = "act"
"""The name under which commands are taken."""
SECONDS_BETWEEN_LINES = 1
"""After these an empty line is sent to pages, so that one that was closed is noticed."""
_STATUS_OF_ERROR: Mapping[type[Exception], HTTPStatus] = {
    BusyError: HTTPStatus.SERVICE_UNAVAILABLE,
    RefusedError: HTTPStatus.OK,  # browsers report any other status as a fault of the page
    WishError: HTTPStatus.OK,
}
MOST_READ = 8 * LARGEST_COMMAND
"""Bytes of a refused body that are read: a client that is still sending would lose the answer."""


class PlayServer(PageServer):
    """Serves a session under a secret token.

    Below ``/TOKEN/`` lie the page, its ``film``, the newest file of a ``replay`` once there is one, and
    ``seat``, the situations of the session as lines of JSON.
    ``POST /TOKEN/act`` takes a command (``read_command``) from pages of this server alone: the token must be
    right, ``Host`` must name this server, ``Origin`` must be that host, and the body be JSON of at most 1 KB.
    The answer is the situation after the command, or an object with an ``error``.

    Args:
        page: the page, HTML.
        session: what is played.
        host: address to listen on.
        port: 0 takes a free one.

    Raises:
        OSError: if it cannot listen.

    """

    def __init__(self, page: bytes, session: Session, host: str = "127.0.0.1", port: int = 0) -> None:
        self.session, self.token = session, secrets.token_urlsafe(16)
        super().__init__(page, session.film, host, port, PlayHandler)

    @property
    def url(self) -> str:
        """Where the page is, with the token."""
        return f"{super().url}{self.token}/"


class PlayHandler(PageHandler):
    """One request to the play server, from its page or from any other client."""

    server: PlayServer

    def answer(self) -> None:
        """Send the resource of a GET or HEAD request."""
        name = self._name()
        if name == ACT:
            self.refuse_method("POST")
        elif name is not None:
            film = self.server.session.film  # of the game that is played now
            replays = [path for path in self.server.session.replays if path.is_file()]
            served = {"": self.send_page, "film": lambda: self.send_film(film), "seat": self._send_situations}
            if replays:
                served["replay"] = lambda: self.send_content(
                    "application/octet-stream", [replays[-1].read_bytes()]
                )
            self.send(name, served)

    def do_POST(self) -> None:  # noqa: N802 (the name it has there)
        """Let the session do a command."""
        lengths = self.headers.get_all("Content-Length", [])
        length = whole_number_in(lengths[0], 0, sys.maxsize) if len(lengths) == 1 else None
        body = None if length is None else self.rfile.read(min(length, MOST_READ))
        name = self._name()
        if name is None:
            return
        if name != ACT:
            self.refuse_method()
        elif self.headers.get_all("Origin", []) != [f"http://{self.headers['Host']}"]:
            self.send_error(HTTPStatus.FORBIDDEN, "Commands are taken from the page of this server alone")
        elif self.headers.get_content_type() != "application/json":
            self.send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A command is application/json")
        elif body is None:
            self.send_error(HTTPStatus.LENGTH_REQUIRED)
        elif len(body) > LARGEST_COMMAND:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A command has {LARGEST_COMMAND} bytes")
        else:
            status = HTTPStatus.OK
            try:
                text = self.server.session.submit(read_command(body))
            except (TypeError, ValueError, RefusedError) as error:
                status = _STATUS_OF_ERROR.get(type(error), HTTPStatus.BAD_REQUEST)
                text = json.dumps({"error": str(error)}).encode()
            self.send_content("application/json", [text], len(text), status)

    def _name(self) -> str | None:
        """Return the path below the token; None, after a refusal, without the right one."""
        if not self.names_server():
            return None
        token, slash, name = self.path.removeprefix("/").partition("/")
        if not compare_digest(token.encode("latin-1"), self.server.token.encode()) or not slash:
            self.send_error(HTTPStatus.FORBIDDEN, "The address lacks the token of this game")
            return None
        self.server.admit(self.connection)
        return name

    def _send_situations(self) -> None:
        """Send the situation now, and each that follows; the game is played as long as a page reads them."""
        with self.server.session.page_open():
            situations = self.server.session.situations.pieces(SECONDS_BETWEEN_LINES)
            self.send_content("application/x-ndjson", (new + b"\n" for new in situations))
