"""``ProgramProcess``: a running program that answers lines, one at a time."""

import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

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
