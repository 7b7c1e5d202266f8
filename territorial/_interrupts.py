"""Handles Ctrl-C and other signals while the command starts or ends.

``territorial`` and ``python -m territorial`` import for half a second before their own first line runs, and
an exception in the middle of that may be swallowed, or told, by any of the packages. So the process ends in
the handler. Importing this module installs it, in processes that were started as the command and in no
others; :func:`give_back` is called once commands can tell of interrupts themselves, and :func:`finish` once
they have told everything: Python has work to do at its end, in which an exception would be lost as well.
"""

import os
import signal
import sys
from itertools import pairwise  # nothing more: the first milliseconds are not covered

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it."""
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What asks a process to end: Ctrl-C, another process, a terminal that is closed."""
_NAMES = ("territorial", "territorial.exe")


def is_command(argv: list[str], orig_argv: list[str]) -> bool:
    """Return whether ``sys.argv`` and ``sys.orig_argv`` belong to the command, and to no child of it."""
    started = argv[0] if argv else ""
    if started == "-m":  # the module is still being looked for
        return "-mterritorial" in orig_argv or ("-m", "territorial") in pairwise(orig_argv)
    return started in orig_argv and os.path.basename(started) in _NAMES


def take_over() -> None:
    """Let ``SIGNALS`` end this process at once, unless they are ignored or handled by other code."""
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _leave)


def give_back() -> None:
    """Let the signals that were taken over raise KeyboardInterrupt."""
    for number in SIGNALS:
        if signal.getsignal(number) is _leave:
            signal.signal(number, signal.default_int_handler)


def finish() -> None:
    """Let no signal change how the command ends, once it has told everything."""
    for number in SIGNALS if IS_COMMAND else ():
        signal.signal(number, signal.SIG_IGN)
    exec("")  # else Python forgets the exit code where Ctrl-C came in code that was evaluated as a text


def _leave(*_: object) -> None:
    try:
        os.write(2, b"\nterritorial: interrupted\n")
    finally:  # where stderr is closed as well
        os._exit(INTERRUPTED)


IS_COMMAND = is_command(getattr(sys, "argv", []), sys.orig_argv)
if IS_COMMAND:
    take_over()
