"""A line on stderr for what takes a while and says nothing by itself."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from territorial._log import is_quiet, is_terminal


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
