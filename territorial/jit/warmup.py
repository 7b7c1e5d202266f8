"""Waiting: says that kernels are compiled, in the first minute of a version of the sources."""

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from territorial._log import LOG, is_quiet, is_terminal
from territorial.jit.cache import seconds_of
from territorial.jit.decorators import JIT_ENABLED, WAIT

_KERNELS = "territorial.engine.step"
_FIRST_STEP = ("the engine of territorial-env, for steps and resets", 35)
ANNOUNCED = {
    "step_games": _FIRST_STEP,
    "reset_game": _FIRST_STEP,
    "ask_networks": ("the kernel ask_networks of territorial-env", 8),
    "play_launches": ("the kernel play_launches of territorial-env", 2),
}
"""What is said of kernels that take longer than a second, and the seconds on two cores of an Intel Xeon.

Where this machine has compiled a kernel before, the seconds that it took are said instead.
"""
SAID_FOR_S = 600.0
"""What a first step needs follows within this time, and is not announced again."""
_listens = False


def listen() -> None:
    """From now on, log when a step has to wait for the compiler, and about how long."""
    global _listens
    if not _listens and JIT_ENABLED:
        _listens = True
        event.register(WAIT, _Announcer())


class _Announcer(event.Listener):
    """Says what is compiled, and how long that takes: once for all that a first step waits for."""

    def __init__(self) -> None:
        self._said_at: dict[str, float] = {}

    def on_start(self, event: Any) -> None:
        function, now = event.data["dispatcher"].py_func, time.perf_counter()
        if function.__module__ != _KERNELS or function.__name__ not in ANNOUNCED:
            return
        what, seconds = ANNOUNCED[function.__name__]
        if now - self._said_at.get(what, -math.inf) > SAID_FOR_S:
            self._said_at[what] = now
            took, kernels = seconds_of("step"), [name for name in ANNOUNCED if ANNOUNCED[name][0] == what]
            LOG.warning(  # at this level, it is seen where nobody has set up logging
                "compiling %s: %s ...",
                what,
                f"about {sum(took[name] for name in kernels):.0f} s, as before on this machine"
                if took.keys() >= {*kernels}
                else f"once on this machine, about {seconds} s, minutes if it is busy",
            )

    def on_end(self, event: Any) -> None:
        pass


# ---- waiting -------------------------------------------------------------------------------------


@contextmanager
def progress(label: str) -> Iterator[None]:
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
