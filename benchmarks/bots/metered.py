"""Commands that are stopped after so much processor time, of all processes that they start."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.rllib.processes import processor_seconds
from territorial.memory.measure import process_tree

EVERY = 0.5
"""Seconds from one look at the processes to the next; what a process does after the last one is not seen."""
TOLD_EVERY = 5.0
"""Seconds of processor time from one report of progress to the next."""
GRACE = 600.0
"""Seconds that a command has to write its results when it is stopped."""
SHOWN = 2000
"""Characters of a log that an error shows."""


class CommandFailedError(RuntimeError):
    """A command ended by itself with an exit code other than 0."""


class ProcessorMeter:
    """Adds up the processor time of a process and of all that it starts, those that have ended too."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seconds: dict[int, float] = {}
        self._ended = 0.0

    def read(self) -> float:
        """Return the seconds so far."""
        for pid, seconds in processor_seconds(process_tree(self._pid)).items():
            if seconds < self._seconds.get(pid, 0.0):  # another process has got the number
                self._ended += self._seconds[pid]
            self._seconds[pid] = seconds
        return self._ended + sum(self._seconds.values())


def minutes(text: str) -> float:
    """Return minutes of processor time that an option asks for."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes above 0")
    return value


@contextmanager
def _not_ignored(number: int) -> Iterator[None]:
    """Let processes that begin within the block notice a signal: shells have those behind ignore it."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def run_for(
    command: Sequence[str], seconds: float, log: Path, told: Callable[[float], None] = lambda _: None
) -> float:
    """Run a command of Python until it ends, or has used so many seconds, and return how many it used.

    It is stopped as by Ctrl-C, and may then write its results; that counts, too. ``told`` is called with the
    seconds so far, now and then. What it prints is added to the file ``log``. CommandFailedError if it fails
    by itself.
    """
    with open(log, "ab") as file, _not_ignored(signal.SIGINT):
        process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for this process, which stops that one
        )
    meter, used, is_stopped, last = ProcessorMeter(process.pid), 0.0, False, 0.0
    try:
        while process.poll() is None:
            used = meter.read()
            if used - last >= TOLD_EVERY:
                told(used)
                last = used
            if used >= seconds and not is_stopped:
                process.send_signal(signal.SIGINT)
                is_stopped, until = True, time.monotonic() + GRACE
            if is_stopped and time.monotonic() > until:
                raise CommandFailedError(f"{command[0]} did not end within {GRACE:.0f} s; see {str(log)!r}")
            time.sleep(EVERY)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode and not is_stopped:
        end = log.read_text(encoding="utf-8", errors="replace")[-SHOWN:]
        raise CommandFailedError(f"{' '.join(command)} ended with exit code {process.returncode}:\n{end}")
    return used
