"""Work on all cores: processes that take a portion when they are free and send what comes of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait
from typing import Any, TypeVar

Portion = TypeVar("Portion")
Result = TypeVar("Result")


def work_here(
    make: Callable[[], Callable[[Portion], Result]], portions: Iterable[Portion]
) -> Iterator[Result]:
    """Yield what comes of every portion, worked on in this process."""
    work = make()
    return map(work, portions)


def work_on_all_cores(
    make: Callable[[], Callable[[Portion], Result]], portions: Iterable[Portion], processes: int
) -> Iterator[Result]:
    """Yield what comes of every portion, in the order in which they are finished.

    Every process calls ``make`` once, which must be possible to pickle, and what that returns for every
    portion. They end with the iterator. RuntimeError, with what is known of it, if one of them fails.
    """
    waiting = iter(portions)
    workers = dict(_start(make) for _ in range(processes))
    try:
        busy = {end for end in workers if _hand_out(end, waiting)}
        while busy:
            for end in wait(list(busy)):
                yield _received(end, workers[end])
                if not _hand_out(end, waiting):
                    busy.discard(end)
    finally:
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.join()


def _start(make: Callable[[], Any]) -> tuple[Any, Any]:
    """Start a process; return our end of the pipe to it, and the process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_work, args=(make, theirs), daemon=True)
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = (
        "1"  # as what it imports, such as torch, would start a thread for every core
    )
    try:
        worker.start()
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
    theirs.close()  # so that the pipe ends with the process
    return ours, worker


def _hand_out(end: Any, waiting: Iterator[Any]) -> bool:
    """Send the next portion; return False if there are no more."""
    for portion in waiting:
        end.send(portion)
        return True
    return False


def _received(end: Any, worker: Any) -> Any:
    """Return what a process has sent for its portion."""
    try:
        is_done, message = end.recv()
    except EOFError:
        worker.join()
        raise RuntimeError(f"a worker process ended with exit code {worker.exitcode}") from None
    if not is_done:
        raise RuntimeError(f"a worker process has failed:\n{message}")
    return message


def _work(make: Callable[[], Any], end: Any) -> None:
    """Work on what comes through the pipe until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    try:
        work = make()
        while True:
            end.send((True, work(end.recv())))
    except (EOFError, BrokenPipeError, ConnectionResetError):  # the parent is gone
        return
    except Exception:
        end.send((False, traceback.format_exc()))
