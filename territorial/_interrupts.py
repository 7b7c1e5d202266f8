"""Ctrl-C while the command line is being imported: a line and exit code 130, and no traceback.

``territorial`` and ``python -m territorial`` import for half a second before their own first line runs, and
an exception in the middle of that may be swallowed, or told, by any of the packages. So the process ends in
the handler. Importing this module installs it, in processes that were started as the command and in no
others; :func:`give_back` is called once commands can tell of interrupts themselves.
"""

import os
import signal
import sys
from itertools import pairwise  # nothing more: the first milliseconds are not covered

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it."""
_NAMES = ("territorial", "territorial.exe")


def is_command(argv: list[str], orig_argv: list[str]) -> bool:
    """Return whether ``sys.argv`` and ``sys.orig_argv`` are those of the command, and of no child of it."""
    started = argv[0] if argv else ""
    if started == "-m":  # the module is still being looked for
        return "-mterritorial" in orig_argv or ("-m", "territorial") in pairwise(orig_argv)
    return started in orig_argv and os.path.basename(started) in _NAMES


def take_over() -> None:
    """Let Ctrl-C end this process at once, unless it is ignored or handled by other code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def give_back() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    try:
        os.write(2, b"\nterritorial: interrupted\n")
    finally:  # where stderr is closed as well
        os._exit(INTERRUPTED)


if is_command(getattr(sys, "argv", []), sys.orig_argv):
    take_over()
