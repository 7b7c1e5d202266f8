"""Clients of the Model Context Protocol for tests."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from territorial.browser.mcp import ModelBot


class Client:
    """A client that has greeted; ``sends`` and ``receives`` are its ends of the pipes."""

    def __init__(self, sends: BinaryIO, receives: BinaryIO) -> None:
        self.sends, self._receives, self.calls, self.longest = sends, receives, 0, 0
        self.greeting = self.ask("initialize", protocolVersion="2025-06-18")

    def send(self, method: str, **params: Any) -> None:
        self.calls += 1
        request = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        self.sends.write(json.dumps(request).encode() + b"\n")
        self.sends.flush()

    def read(self) -> Any:
        """Return the result of the last request."""
        line = self._receives.readline()
        message = json.loads(line)
        assert message.keys() == {"jsonrpc", "id", "result"}
        assert (message["jsonrpc"], message["id"]) == ("2.0", self.calls)
        self.longest = max(self.longest, len(line))
        return message["result"]

    def ask(self, method: str, **params: Any) -> Any:
        self.send(method, **params)
        return self.read()

    def told(self) -> Any:
        """Return what the last call of a tool came to; the text of an error."""
        result = self.read()
        text = result["content"][0]["text"]
        return text if result["isError"] else json.loads(text)

    def call(self, tool: str, **fields: Any) -> Any:
        self.send("tools/call", name=tool, arguments=fields)
        return self.told()

    def play(self, wait: int) -> Any:
        """Attack the weakest neighbour until the seat is out or the game is over; return the last answer."""
        found = self.call("look")
        while found["place"] is None:
            weakest = min(
                found["legal"], key=lambda q: found["troops"][q] / (found["land"][q] or 1), default=-1
            )
            launch = {"target": weakest, "percent": 30} if weakest >= 0 else {}
            found = self.call("decide", **launch, wait=wait)
        return found


@contextmanager
def model_and_client() -> Iterator[tuple[ModelBot, Client]]:
    """Give a model of this process, and the client that plays it and leaves at the end."""
    (stdin, sends), (receives, stdout) = os.pipe(), os.pipe()
    model = ModelBot(stdin, stdout)
    with os.fdopen(receives, "rb") as answers, os.fdopen(sends, "wb") as out:
        yield model, Client(out, answers)
