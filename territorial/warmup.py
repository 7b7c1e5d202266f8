"""The first minute: says so while the kernels are compiled, which happens once per version of the sources."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from territorial._jit import CACHE_DIR, JIT_ENABLED

_announced = False


def is_compiled() -> bool:
    """Return whether compiled kernels of these sources are on disk (or none are needed)."""
    return not JIT_ENABLED or any(CACHE_DIR.rglob("*.nbi"))


def announce() -> None:
    """Tell on stderr, once a process, that the first steps will have to wait for the compiler."""
    global _announced
    if not _announced and not is_compiled():
        sys.stderr.write(
            "territorial: compiling the engine for this machine (once, about half a minute) ...\n"
        )
        sys.stderr.flush()
    _announced = True


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Show ``label`` with the seconds passed on stderr until the block is done."""
    started, done = time.perf_counter(), threading.Event()

    def show() -> None:
        while not done.wait(1.0):
            seconds = time.perf_counter() - started
            end = "\r" if sys.stderr.isatty() else "\n"
            if sys.stderr.isatty() or int(seconds) % 10 == 0:
                sys.stderr.write(f"{label} {seconds:3.0f} s{end}")
                sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
