"""``Program``: a bot in any language, which reads and writes lines.

``docs/programs.md`` defines the lines. A program keeps nothing: an answer follows from the line that asks for
it, which has all that the seat wrote down. So every process that plays has a program of its own.
"""

import base64
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from territorial._log import LOG
from territorial.bots.python import PythonBot, View
from territorial.bots.settings import LAUNCHES
from territorial.bots.style import MOST_TICKS, check_name
from territorial.bots.targets import HOLD_ALL
from territorial.config import GameConfig
from territorial.config.validation import checked_list, finite_number, one_of, shown, whole_number
from territorial.constants import FRACTION_UNIT, RULES_VERSION, __version__
from territorial.files.bounded import Bounds, check_fields, parse_object
from territorial.files.locks import finished_before_forks
from territorial.typing import Bools

# ---- processes -------------------------------------------------------------------------------------

CHUNK = 1 << 16
PATIENCE = 1.0
"""Seconds that a program has to end in once its input has ended."""
GUARD = 'read -r _; sleep 1; kill -s KILL -- "-$1"'
"""The guard of a program: once this process is gone, however it ended, it kills the group ``$1``."""


class ProgramProcess:
    """Runs a program until it is ended, this object is forgotten, or this process ends.

    The program leads a process group of its own: what it starts is killed with it, and Ctrl-C is for this
    process alone.

    Args:
        file: the path from the root; it is run without arguments.
        seconds: wall time of an answer at most.
        most: bytes of an answer at most.

    Raises:
        ValueError: if the file cannot be run.

    """

    def __init__(self, file: str, seconds: float, most: int) -> None:
        if sys.platform == "win32":
            raise ValueError("programs need Linux or macOS")
        self._seconds, self._most, self.owner = seconds, most, os.getpid()
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        try:
            self._process = subprocess.Popen([file], stdin=pipe, stdout=pipe, start_new_session=True)
        except OSError as error:
            raise ValueError(
                f"it cannot be run: {error.strerror}; it must be an executable file, and a script must begin "
                "with #! and the path of its interpreter"
            ) from None
        started = [self._process]
        self.end = weakref.finalize(self, _end, started, self.owner)
        """Ends the program, which has ``PATIENCE`` seconds to do so itself; does nothing the second time."""
        guard = ["/bin/sh", "-c", GUARD, "sh", str(self._process.pid)]
        started.append(subprocess.Popen(guard, stdin=pipe, stderr=quiet, start_new_session=True))
        self._stdin, self._stdout = _number_of(self._process.stdin), _number_of(self._process.stdout)
        self._reading, self._both = selectors.DefaultSelector(), selectors.DefaultSelector()
        self._both.register(self._stdin, selectors.EVENT_WRITE)
        for selector in (self._reading, self._both):
            selector.register(self._stdout, selectors.EVENT_READ)

    def ask(self, text: bytes) -> bytes:
        """Return the line that answers ``text``, which ends with a line; ValueError if none does.

        Then the program must be ended, as a late answer would be taken for the next one.
        """
        deadline, unsent, answer = time.monotonic() + self._seconds, memoryview(text), self._read()
        if answer:
            raise ValueError("it wrote a line that nobody had asked for")
        while b"\n" not in answer:
            unsent = unsent[self._write(unsent) :]
            waiting = self._both if unsent else self._reading
            if not waiting.select(max(0.0, deadline - time.monotonic())):
                raise ValueError(f"it did not answer within {self._seconds:g} s; does it flush its output?")
            answer += self._read()
            if len(answer) > self._most:
                raise ValueError(f"it wrote more than {self._most:,} bytes for one answer")
        line, _, rest = answer.partition(b"\n")
        if unsent or rest:
            raise ValueError("it wrote more than one line for one answer")
        return line

    def _read(self) -> bytes:
        """Return what the program has written, or nothing."""
        try:
            found = os.read(self._stdout, CHUNK)
        except BlockingIOError:
            return b""
        if not found:
            raise ValueError(self._ending())
        return found

    def _write(self, text: memoryview) -> int:
        """Return how many bytes of ``text`` the program can have now."""
        try:
            return os.write(self._stdin, text)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise ValueError(self._ending()) from None

    def _ending(self) -> str:
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "it closed its input or its output"
        return f"it ended with exit code {code}" if code >= 0 else f"{signal.Signals(-code).name} ended it"


def _number_of(pipe: IO[bytes] | None) -> int:
    """Return the number of a pipe, which never blocks from now on."""
    number = pipe.fileno() if pipe else -1
    os.set_blocking(number, False)
    return number


def _end(started: Sequence[subprocess.Popen[bytes]], owner: int) -> None:
    """End the program and its guard, unless this is a fork of the process that started them."""
    if os.getpid() != owner:
        return
    program = started[0]
    if program.stdin:
        program.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        program.wait(PATIENCE)
    with suppress(ProcessLookupError, PermissionError):  # nothing that it started is left
        os.killpg(program.pid, signal.SIGKILL)
    for process in started:
        with process:
            process.kill()


# ---- programs --------------------------------------------------------------------------------------

PROGRAM = "program:"
"""What a text begins with that names the file of a program: ``program:./wolf``."""
VERSION = 1
"""Of the lines, in the greeting."""
BOARD = "board"
"""The wish for the owner codes of all cells."""
MOST_FORECASTS = 20
"""A decision may ask for so many."""
BOUNDS = Bounds(nbytes=64 * 1024, values=2000)
"""Of a line that a program writes."""
FAILED = -1
"""In the first number of a seat's memory, which counts those that the program keeps: it has failed."""
INT32 = np.iinfo(np.int32)
OnFailure = Literal["error", "hold"]
"""What becomes of a seat whose program gives no answer: see ``Program``."""


def have_failed(memory: npt.NDArray[np.int32]) -> Bools:
    """Return which seats of programs have failed, (...); ``memory`` (..., M) is that of the state."""
    return memory[..., LAUNCHES] == FAILED


class ProgramError(ValueError):
    """A program cannot be run, or gave no answer; the message says which one, where and why."""


class Program(PythonBot):
    """A bot that is a program in any language: it answers a line of JSON with a line of JSON.

    It goes into ``seats`` like any bot. The program is run once for its greeting, which has its name and
    interval, and then by each process that plays, from its first decision on. It has the rights of the user.
    Needs Linux or macOS.

    Args:
        path: a file that can be run; it is run without arguments and without a shell.
        seconds: wall time of an answer at most, which is against hanging; 0.001 to 3600, default 10.
        on_failure: what becomes of a seat whose program ends, gives no answer in time, or one that is none.
            The program is ended, and run again when it is needed. "error": ``ProgramError``. "hold": the seat
            holds for the rest of the game, and the record of a match says so. Default "error".

    Raises:
        ProgramError: if it cannot be run, or its greeting is none.

    """

    def __init__(
        self, path: str | os.PathLike[str], seconds: float = 10, on_failure: OnFailure = "error"
    ) -> None:
        self.path = os.fspath(path)
        self.seconds = finite_number("seconds", seconds, 0.001, 3600)
        self.on_failure = one_of("on_failure", on_failure, get_args(OnFailure))
        self.file = os.path.abspath(self.path)
        """The file, from the root."""
        self._process: ProgramProcess | None = None
        # Those that the running program has had a line on; it knows them by their number.
        self._configs: list[GameConfig] = []
        try:
            greeting = greeted(self._started())
        except (TypeError, ValueError) as error:
            raise ProgramError(f"program {self.path!r}, in its greeting: {error}") from None
        finally:
            self._end()
        self._greeting = greeting
        self.name, self.interval, self._wishes = greeting

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": None, "_configs": []}

    def decide(self, view: View) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """Return what the program answers for each seat, one after the other."""
        targets, fractions = np.full(len(view.rows), HOLD_ALL), np.ones(len(view.rows), np.int64)
        memory = view.memory
        for i in np.flatnonzero(memory[:, 0] != FAILED).tolist():
            try:
                answer = self._answer(view, i)
            except (TypeError, ValueError) as error:
                seat = f"seat {view.seats[i]} of the game with seed {view.seeds[i]}"
                failure = f"program {self.path!r}, at tick {view.ticks[i]:,} on {seat}: {error}"
                if self.on_failure == "error":
                    raise ProgramError(failure) from None
                LOG.warning("%s; the seat holds for the rest of the game", failure)
                answer, memory[i, 0] = {}, FAILED
            targets[i], fractions[i] = answer.get("target", HOLD_ALL), answer.get("share", 1)
            if "memory" in answer:
                kept = answer["memory"]
                memory[i, 0], memory[i, 1 : 1 + len(kept)] = len(kept), kept
        return targets, fractions

    def _answer(self, view: View, i: int) -> dict[str, Any]:
        """Return the decision of row ``i``; ValueError or TypeError if there is none."""
        with _ASKING:
            try:
                process, news = self._begun(), b""
                if view.config not in self._configs:
                    news = as_line({"config": len(self._configs), **view.config.to_dict()})
                    self._configs.append(view.config)
                config = self._configs.index(view.config)
                fields = question(view, i, config, sees_board=BOARD in self._wishes)
                for _ in range(MOST_FORECASTS + 1):
                    found = answer_to(process, news + as_line(fields))
                    if "forecast" not in found:
                        return decision(view, found)
                    fields, news = forecast(view, i, found), b""
                raise ValueError(f"it asked for more than {MOST_FORECASTS} forecasts")
            except BaseException:  # also Ctrl-C: its answer would be taken for that to the next line
                self._end()
                raise

    def _begun(self) -> ProgramProcess:
        """Return the running program of this process, whichever process this one was forked from."""
        if self._process is not None and self._process.owner == os.getpid():
            return self._process
        process = self._started()
        if greeted(process) != self._greeting:
            raise ValueError("it has another greeting than the first time")
        return process

    def _started(self) -> ProgramProcess:
        self._process, self._configs = ProgramProcess(self.file, self.seconds, BOUNDS.nbytes), []
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


# Held while a line is on its way: batches of several threads may have the same program.
_ASKING = threading.Lock()
finished_before_forks(_ASKING)


# ---- lines -------------------------------------------------------------------------------------------


def greeted(process: ProgramProcess) -> tuple[str, int, tuple[str, ...]]:
    """Greet a program that has just been started, and return its name, interval and wishes.

    ValueError or TypeError for a greeting that is none.
    """
    hello = {"hello": VERSION, "rules": RULES_VERSION, "library": __version__}
    found = answer_to(process, as_line(hello))
    check_fields("the greeting", found, ("name", "interval"), ("hello", "wishes"))
    check_name("the program", found["name"])
    whole_number("hello", found.get("hello", VERSION), VERSION, VERSION)
    wishes = checked_list("wishes", found.get("wishes", ()), most=1)
    for wish in wishes:
        one_of("wishes[0]", wish, [BOARD])
    return found["name"], whole_number("interval", found["interval"], 1, MOST_TICKS), wishes


def question(view: View, i: int, config: int, *, sees_board: bool) -> dict[str, Any]:
    """Return the fields of the line that asks for the decision of row ``i``."""
    fronts = np.flatnonzero(view.fronts[i])
    columns = view.fronts, view.needs, view.sent, view.attacks
    random = np.stack([view.draw(256)[i], view.draw(257)[i]])
    numbers = {
        "seat": view.seats[i],
        "tick": view.ticks[i],
        "legal": np.flatnonzero(view.legal[i]),
        "num_land": view.num_land[i],
        "troops": view.troops[i],
        "land": view.land[i],
        "targets": np.stack([fronts, *(column[i, fronts] for column in columns)], axis=-1),
        "random": random.view(np.uint32),
        "memory": view.memory[i, 1 : 1 + view.memory[i, 0]],
    }
    if view.config.has_allies:
        numbers |= {"team": view.team[i], "gifts": np.flatnonzero(view.gifts[i])}
    fields: dict[str, Any] = {"decide": VERSION, "config": config}
    fields |= {name: number.tolist() for name, number in numbers.items()}
    if sees_board:
        fields[BOARD] = base64.b64encode(zlib.compress(view.board[i].tobytes(), 1)).decode()
    return fields


def decision(view: View, found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an answer; ValueError or TypeError unless it is a decision."""
    needed = ("target", "share") if {"target", "share"} & found.keys() else ()
    check_fields("the answer", found, needed, ("target", "share", "memory"))
    if needed:
        whole_number("target", found["target"], 0, view.config.num_players)
        whole_number("share", found["share"], 1, FRACTION_UNIT)
    kept = checked_list("memory", found.get("memory", ()), most=view.memory.shape[1] - 1)
    for i, number in enumerate(kept):
        whole_number(f"memory[{i}]", number, INT32.min, INT32.max)
    return found


def forecast(view: View, i: int, found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the line that answers a wish for a forecast."""
    check_fields("the answer", found, ("forecast",))
    asked = checked_list("forecast", found["forecast"])
    if len(asked) != 2:
        raise ValueError(f"forecast is {shown(list(asked))}; it must be a target and a share")
    return {"forecast": view.forecast(i, *asked)}


def answer_to(process: ProgramProcess, text: bytes) -> dict[str, Any]:
    """Return the object that a program answers ``text`` with."""
    line = process.ask(text)
    try:
        return parse_object(line, BOUNDS)
    except ValueError as error:
        raise ValueError(f"it wrote {shown(line.decode(errors='replace'))}: {error}") from None


def as_line(fields: dict[str, Any]) -> bytes:
    """Return these fields as a line of JSON."""
    return json.dumps(fields).encode() + b"\n"
