"""``ModelBot``: a seat that a language model plays, by the Model Context Protocol.

``docs/programs.md`` describes it. One thread reads messages and another one writes answers, so a client holds
up nothing but the game. The thread of the session answers calls of tools, between two decisions.
"""

import json
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots import PythonBot, View
from territorial.bots.program import question
from territorial.bots.targets import HOLD_ALL
from territorial.browser.situation import Situation, situation_of, why_not
from territorial.config.validation import shown, whole_number
from territorial.constants import FRACTION_UNIT, NEUTRAL, __version__
from territorial.engine.vec_game import VecGame
from territorial.files.bounded import Bounds, check_fields, parse

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # of the protocol, the newest last
BOUNDS = Bounds(nbytes=64 * 1024, values=2000)  # of a message of the client
PATIENCE = 1.0  # seconds that a client has to read the last answers in
MOST_WAIT = 100  # decisions until a call is answered
NOT_JSON, INVALID, NO_METHOD, WRONG_PARAMS = -32700, -32600, -32601, -32602  # errors of JSON-RPC

INSTRUCTIONS = """\
You play one seat of a conquest game on a grid. All living players decide at the same ticks: each sends part \
of its troops against one owner whose land touches its own, or holds. Troops in the field take cell after \
cell; troops at home defend and earn interest. Owner code 0 is free land, which is cheap to take. Whoever \
holds nearly all land, is the last one left, or has the most land at max_ticks wins. The game waits for you: \
look once, then call decide again and again."""
_LAUNCH = {
    "target": {"type": "integer", "minimum": 0, "description": "owner code; 0 is free land"},
    "percent": {"type": "integer", "minimum": 1, "maximum": 100, "description": "part of the troops at home"},
}
_WAIT = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_WAIT,
    "description": "decisions until the answer, default 1; you hold in all but the first",
}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "look",
        "description": "The game as it stands. seat is your owner code. names, land and troops are by owner "
        "code. legal are the owners that you can attack, gifts the allies that you can give troops to. Each "
        "of targets is an owner code, your front with it in cells, the troops that an attack needs, your "
        "troops in the field there, and its troops in the field here.",
        "inputSchema": {"type": "object", "properties": {}},
    },
    {
        "name": "forecast",
        "description": "What a launch would come to if all others held: the cells that it takes, the ticks "
        "until it is over, the troops that are then at home.",
        "inputSchema": {"type": "object", "properties": _LAUNCH, "required": list(_LAUNCH)},
    },
    {
        "name": "decide",
        "description": "Sends percent of the troops at home against target; holds without these two. The "
        "answer is that of look, after so many decisions as wait says. It comes earlier if somebody attacks "
        "you who did not yet, if the target is out, if you are, and at the end of the game; happened says "
        "what it was.",
        "inputSchema": {"type": "object", "properties": {**_LAUNCH, "wait": _WAIT}},
    },
]
_FIELDS: dict[str, Any] = {tool["name"]: tool["inputSchema"]["properties"] for tool in TOOLS}


class RequestError(Exception):
    """A message cannot be answered; the arguments are the code of JSON-RPC and the reason."""


class Client:
    """The client at two pipes: its ``calls`` wait to be answered, all other messages have been.

    Args:
        stdin: the number of the file that messages are read from.
        stdout: the number of the file that answers are written to; nothing else may write there.

    Attributes:
        calls: id, tool and fields of each call that has come.
        has_ended: whether no more will come, as the client has closed ``stdin``.
        wake: is called when there is a call, and when there will be no more.

    """

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin, self._stdout, self._is_greeted = stdin, stdout, False
        self.calls = deque[tuple[int | str, str, dict[str, Any]]]()
        self.has_ended = False
        self.wake: Callable[[], None] = lambda: None
        self._answers = queue.SimpleQueue[bytes]()
        self._writing = threading.Thread(target=self._write, daemon=True)
        self._writing.start()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, request: int | str | None, **outcome: Any) -> None:
        """Answer a request with its ``result``, or an ``error``."""
        answer = {"jsonrpc": "2.0", "id": request, **outcome}
        self._answers.put(json.dumps(answer, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        """Wait until all answers have been written, and write no more."""
        self._answers.put(b"")
        self._writing.join(PATIENCE)

    def _write(self) -> None:
        while answer := self._answers.get():
            with suppress(OSError):  # nobody reads them any more
                while answer:
                    answer = answer[os.write(self._stdout, answer) :]

    def _read(self) -> None:
        text = b""
        with suppress(OSError):
            # Not by a file of Python, whose lock would be held when the process ends.
            while chunk := os.read(self._stdin, BOUNDS.nbytes):
                *lines, text = (text + chunk).split(b"\n")
                text = text[: BOUNDS.nbytes + 1]  # what is too long is refused when its line ends
                for line in filter(bytes.strip, lines):
                    self._take(line)
        self.has_ended = True
        self.wake()

    def _take(self, line: bytes) -> None:
        """Answer a message, or keep the call that it is."""
        request = None
        try:
            request, method, params = _message_of(line)
            if request is None:  # a notification; none of them changes anything
                return
            if self._is_greeted and method == "tools/call":
                tool, fields = params.get("name"), params.get("arguments", {})
                if not isinstance(tool, str) or tool not in _FIELDS or not isinstance(fields, dict):
                    wanted = f"name must be one of {', '.join(_FIELDS)}, and arguments an object"
                    asked = f"there is no tool {shown(tool)} for {shown(fields)}"
                    raise RequestError(WRONG_PARAMS, f"{asked}; {wanted}")
                self.calls.append((request, tool, fields))
                self.wake()
            else:
                self.send(request, result=self._result(method, params))
        except RequestError as error:
            code, reason = error.args
            self.send(request, error={"code": code, "message": reason})

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "ping":
            return {}
        if method == "initialize":
            version = params.get("protocolVersion")
            if not isinstance(version, str):
                raise RequestError(WRONG_PARAMS, f"protocolVersion is {shown(version)}; it must be a text")
            self._is_greeted = True
            return {
                "protocolVersion": version if version in VERSIONS else VERSIONS[-1],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "territorial", "version": __version__},
                "instructions": INSTRUCTIONS,
            }
        if not self._is_greeted:
            raise RequestError(INVALID, f"{shown(method)} came before initialize, which must come first")
        if method != "tools/list":
            methods = "initialize, ping, tools/list and tools/call"
            raise RequestError(NO_METHOD, f"there is no method {shown(method)}; there are {methods}")
        return {"tools": TOOLS}


def _message_of(line: bytes) -> tuple[int | str | None, str, dict[str, Any]]:
    """Return the id, the method and the parameters of a message; None is the id of a notification."""
    try:
        message = parse(line, BOUNDS)
    except ValueError as error:
        raise RequestError(NOT_JSON, f"the message cannot be read: {error}") from None
    fields = message if isinstance(message, dict) else {}
    request, method, params = fields.get("id"), fields.get("method"), fields.get("params", {})
    is_named = isinstance(request, int | str | None) and not isinstance(request, bool)
    if fields.get("jsonrpc") != "2.0" or not isinstance(method, str) or not is_named:
        wanted = 'an object with "jsonrpc": "2.0", a method, and a text or a whole number as its id'
        raise RequestError(INVALID, f"the message is {shown(message)}; it must be {wanted}")
    if not isinstance(params, dict):
        raise RequestError(WRONG_PARAMS, f"params is {shown(params)}; it must be an object")
    return request, method, params


# ---- the seat --------------------------------------------------------------------------------------


class Stay(NamedTuple):
    """A call of ``decide`` that has not been answered.

    Args:
        request: its id.
        target: who is attacked; HOLD_ALL: nobody.
        until: the tick of its answer, unless something happens.
        attackers: the seats that attacked when it was made.

    """

    request: int | str
    target: int
    until: int
    attackers: frozenset[int]


class ModelBot(PythonBot):
    """A bot whose decisions a client of the Model Context Protocol makes, for one seat.

    It goes into ``opponents`` of ``territorial.browser.host``, and the game waits for it.

    Args:
        stdin: the number of the file that messages are read from, from now on.
        stdout: the number of the file that answers are written to; nothing else may write there.

    """

    name = "model"
    interval = 1

    def __init__(self, stdin: int, stdout: int) -> None:
        self.client = Client(stdin, stdout)
        self._seat = 0
        self._stay: Stay | None = None
        self._launch = HOLD_ALL, 1  # target and 1024ths of the next decision

    def decide(self, view: View) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """Return what the client has decided, which is used up."""
        target, share = self._launch
        self._launch = HOLD_ALL, 1
        return np.where(view.seats == self._seat, target, HOLD_ALL), share

    def sit(self, game: VecGame, names: Sequence[str], wake: Callable[[], None]) -> None:
        """Play in another game from now on, as far as it has a seat; ``wake`` says that there are calls."""
        if self._stay is not None:
            self._answer(self._stay.request, "another game has begun", is_error=True)
        here = game.seats_of(0)
        self._seat = 1 + here.index(self.name) if self.name in here else 0
        self._game, self._names, self._stay, self.client.wake = game, ["free land", *names], None, wake

    @property
    def has_left(self) -> bool:
        """Whether the client has ended, and all its calls have been answered."""
        return self.client.has_ended and not self.client.calls and self._stay is None

    def attend(self) -> bool:
        """Answer calls as far as the game has come; return whether it can go on, as this seat has decided."""
        now, stay, calls = situation_of(self._game, self._seat), self._stay, self.client.calls
        if stay is not None and ((happened := self._happened(stay, now)) or now.tick >= stay.until):
            self._stay = None
            self._answer(stay.request, {"happened": happened, **self._look(now)})
        while calls and self._stay is None:
            request, tool, fields = calls.popleft()
            try:
                self._do(request, tool, fields, now)
            except (TypeError, ValueError) as error:
                self._answer(request, str(error), is_error=True)
        return self._stay is not None or not now.is_alive

    def _answer(self, request: int | str, content: Any, *, is_error: bool = False) -> None:
        text = content if is_error else json.dumps(content, separators=(",", ":"))
        self.client.send(request, result={"content": [{"type": "text", "text": text}], "isError": is_error})

    def _do(self, request: int | str, tool: str, fields: dict[str, Any], now: Situation) -> None:
        """Answer a call, or begin a stay; ValueError or TypeError says what is wrong with it."""
        check_fields(tool, fields, (), _FIELDS[tool])
        if not self._seat:
            raise ValueError("you have no seat in this game, in which a person has taken it over")
        wait = whole_number("wait", fields.get("wait", 1), 1, MOST_WAIT)
        if tool == "look" or now.is_over or not now.is_alive:
            self._answer(request, self._look(now))
            return
        is_launch = tool == "forecast" or not {"target", "percent"}.isdisjoint(fields)
        launch = self._checked(fields, now) if is_launch else (HOLD_ALL, 1)
        if tool == "forecast":
            self._answer(request, self._game.forecasts(0, self._seat, *launch))
            return
        self._launch, until = launch, now.tick + wait * self._game.config.decision_every
        self._stay = Stay(request, launch[0], until, frozenset(seat for seat, _ in now.attackers))

    def _checked(self, fields: dict[str, Any], now: Situation) -> tuple[int, int]:
        """Return target and 1024ths of a launch; ValueError or TypeError unless it is legal now."""
        target = whole_number("target", fields.get("target"), 0, self._game.config.num_players)
        percent = whole_number("percent", fields.get("percent"), 1, 100)
        if reason := why_not(now, self._seat, target):
            legal = [opening.owner for opening in now.openings if not opening.reason]
            raise ValueError(f"target is {target}: {reason}; legal now: {legal or 'none, so hold'}")
        return target, percent * FRACTION_UNIT // 100

    def _look(self, now: Situation) -> dict[str, Any]:
        """Return the line that asks a program, without what models have no use for, and with the names."""
        game = self._game
        asked = question(
            View(game.blocks, game.config, *np.array([[0], [self._seat]])), 0, 0, sees_board=False
        )
        programs = ("decide", "config", "random", "memory")
        fields = {name: value for name, value in asked.items() if name not in programs}
        fields |= {"max_ticks": game.config.max_ticks, "names": self._names, "place": now.place}
        if now.is_over:
            places = game.state.doubled_place[0, 1:]
            fields["winners"] = (1 + np.flatnonzero(places == places.min())).tolist()
        return fields

    def _happened(self, stay: Stay, now: Situation) -> list[str]:
        """Return what ends a stay before its time."""
        attacks = [
            f"{self._called(seat)} attacks you with {troops:,} troops"
            for seat, troops in now.attackers
            if seat not in stay.attackers
        ]
        is_out = stay.target > NEUTRAL and not self._game.state.alive[0, stay.target]
        ends = {
            f"{self._called(stay.target)} is out": is_out,
            "you are out": not now.is_alive,
            "the game is over": now.is_over,
        }
        return attacks + [text for text, is_so in ends.items() if is_so]

    def _called(self, owner: int) -> str:
        return f"P{owner} {self._names[owner]}"
