"""The logger of both packages, which writes progress and warnings to stderr."""

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

LOG = logging.getLogger("territorial")


def is_quiet() -> bool:
    """Return whether progress is hidden: by ``--quiet``, by another level above INFO, or without a stderr."""
    return LOG.level > logging.INFO or sys.stderr is None


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal; None is the stream of a process without a console."""
    return stream is not None and stream.isatty()


@contextmanager
def elapsed(label: str) -> Iterator[None]:
    """Show ``label`` with the seconds passed on stderr until the block is done."""
    started, done = time.perf_counter(), threading.Event()

    def show() -> None:
        while not done.wait(1.0) and not is_quiet():
            seconds = time.perf_counter() - started
            end = "\r" if is_terminal(sys.stderr) else "\n"
            if end == "\r" or int(seconds) % 10 == 0:
                print(f"{label} {seconds:3.0f} s", end=end, file=sys.stderr, flush=True)  # noqa: T201

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
