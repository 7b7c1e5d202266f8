"""The first minute of a version of the sources: says that kernels are compiled, and notes how long."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core import event

from territorial.files.atomic import write_file
from territorial.jit.cache import CACHE_DIR
from territorial.jit.decorators import JIT_ENABLED, WAIT

RECORD = "compile.json"
"""The file in the cache that says how many seconds this machine took for each kernel when it did last."""

_KERNELS = "territorial.engine.step"
_FIRST_STEP = ("reset_game", "step_games")
"""What a game cannot begin without; other kernels take a tenth of a second, or are called later."""
ESTIMATES = {
    "step_games": 26,
    "reset_game": 9,
    "ask_networks": 8,
    "play_launches": 2,
    "observe_games": 1,
    "place_position": 1,
    "play_pairs": 4,
}
"""Seconds for a kernel on a two-core Intel Xeon (model 167), 2026-11-25; all others take less than one."""
SAID_FOR_S = 600.0
"""What a first step needs follows within this time, and is not announced again."""
_listens = False


def listen() -> None:
    """From now on, tell on stderr when a step has to wait for the compiler, and note how long that takes."""
    global _listens
    if not _listens and JIT_ENABLED:
        _listens = True
        event.register("numba:compile", _CompileStopWatch())
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


# ---- how long it took ----------------------------------------------------------------------------


def compile_seconds(folder: Path = CACHE_DIR) -> float | None:
    """Return the seconds that compiling took up to the first step; None if ``folder`` has no note."""
    seconds = _recorded(folder)
    return sum(seconds[name] for name in _FIRST_STEP) if seconds.keys() >= set(_FIRST_STEP) else None


class _CompileStopWatch(event.Listener):
    """Writes down the seconds of every kernel that is compiled; loading from the cache is no event."""

    def __init__(self) -> None:
        self._started: dict[str, float] = {}

    def on_start(self, event: Any) -> None:
        name = _kernel_of(event)
        if name is not None:
            self._started[name] = time.perf_counter()

    def on_end(self, event: Any) -> None:
        name = _kernel_of(event)
        is_done = tuple(event.data["args"]) in event.data["dispatcher"].overloads
        if name in self._started and is_done:
            _record(CACHE_DIR, name, time.perf_counter() - self._started.pop(name))


def _kernel_of(event: Any) -> str | None:
    function = event.data["dispatcher"].py_func
    is_kernel = event.data["dispatcher"].targetoptions.get("nogil", False)
    return function.__name__ if is_kernel and function.__module__ == _KERNELS else None


def _host() -> dict[str, str]:
    """Return what makes compiled code useless elsewhere."""
    return {
        "python": ".".join(map(str, sys.version_info[:2])),
        "numba": numba.__version__,
        "cpu": llvmlite.binding.get_host_cpu_name(),
    }


def _recorded(folder: Path) -> dict[str, float]:
    """Return the seconds by kernel that were written down on a host like this one."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        seconds = record["seconds"] if record["host"] == _host() else {}
        return {str(name): float(value) for name, value in seconds.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _record(folder: Path, name: str, seconds: float) -> None:
    """Add a kernel to the record; where that cannot be written, the figure is lost and nothing else."""
    record = {"host": _host(), "seconds": _recorded(folder) | {name: seconds}}
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / RECORD, (json.dumps(record, indent=2) + "\n").encode())


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
