"""Waiting: says that kernels are compiled, in the first minute of a version of the sources."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from territorial.jit.decorators import JIT_ENABLED, WAIT

_KERNELS = "territorial.engine.step"
_FIRST_STEP = ("reset_game", "step_games")
"""What a game cannot begin without; other kernels take a tenth of a second, or are called later."""
ESTIMATES = {
    "step_games": 26,
    "reset_game": 9,
    "ask_networks": 8,
    "play_launches": 2,
    "observe_game": 1,
    "place_position": 1,
    "play_pairs": 4,
}
"""Seconds for a kernel on a two-core Intel Xeon (model 167), 2026-11-25; all others take less than one."""
SAID_FOR_S = 600.0
"""What a first step needs follows within this time, and is not announced again."""
_listens = False


def listen() -> None:
    """From now on, tell on stderr when a step has to wait for the compiler, and about how long."""
    global _listens
    if not _listens and JIT_ENABLED:
        _listens = True
        event.register(WAIT, _Announcer())


class _Announcer(event.Listener):
    """Says what is compiled, and how long that takes: once for all that a first step waits for."""

    def __init__(self) -> None:
        self._said_at = -math.inf

    def on_start(self, event: Any) -> None:
        name, now = _kernel_of(event), time.perf_counter()
        if name not in _FIRST_STEP:
            if ESTIMATES.get(name or "", 0) > 1:
                _say(f"the kernel {name}", ESTIMATES[str(name)])
        elif now - self._said_at > SAID_FOR_S:
            _say("the engine, for steps and resets", sum(ESTIMATES[kernel] for kernel in _FIRST_STEP))
            self._said_at = now

    def on_end(self, event: Any) -> None:
        pass


def _say(what: str, seconds: int) -> None:
    sys.stderr.write(
        f"territorial: compiling {what}: once on this machine, about {seconds} s, minutes if it is busy ...\n"
    )
    sys.stderr.flush()


def _kernel_of(event: Any) -> str | None:
    function = event.data["dispatcher"].py_func
    is_kernel = event.data["dispatcher"].targetoptions.get("nogil", False)
    return function.__name__ if is_kernel and function.__module__ == _KERNELS else None


# ---- waiting -------------------------------------------------------------------------------------


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
