"""How a command ends: with an exit code and, where it could not be done, one line on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from territorial._interrupts import INTERRUPTED, give_back
from territorial.cli.options import UsageError

FAILED = 1
WRONG = 2
NO_READER = 141
"""128 and the number of SIGPIPE, as shells have it: the reader of stdout, such as ``head``, has closed it."""


def exit_code_of(command: Callable[[], int], name: str) -> int:
    """Do what a command does and return its exit code; errors are written to stderr, after ``name``."""
    try:
        give_back()
        if sys.stderr is None:
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process
        if sys.stdout is None:
            return _told(name, "error: stdout is closed; >/dev/null is for results that nobody reads", FAILED)
        code = command()
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _told(name, f"error: {error}", WRONG)
    except KeyboardInterrupt:
        return _told(f"\n{name}", "interrupted", INTERRUPTED)
    except OSError as error:
        return _told(name, *_reason(error))


def _reason(error: OSError) -> tuple[str, int]:
    """Return the line and the exit code for an error that no command expected: mostly that of stdout."""
    broken = _error_of_stdout("\n")  # what failed may be lost: one more line tells
    if broken is None:
        return f"error: {error}", FAILED
    if isinstance(broken, BrokenPipeError):
        return "whoever read stdout has left", NO_READER
    return f"error: stdout cannot be written: {broken.strerror}", FAILED


def _error_of_stdout(text: str = "") -> OSError | None:
    """Write all that waits for stdout, and ``text``; return what hinders that; prevent another attempt."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would, as it exits
        return error
    return None


def _told(name: str, text: str, code: int) -> int:
    if sys.stdout is not None:
        _error_of_stdout()
    with suppress(OSError):  # there is no reader
        print(f"{name}: {text}", file=sys.stderr, flush=True)
    return code
