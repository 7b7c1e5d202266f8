"""``MemoryGuard``: a memory limit of this process and its children."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from territorial.memory.measure import Memory, ProcessMemory, measure, most_held, process_tree
from territorial.memory.plan import MB, BudgetError, in_mb

RESERVE = 20
"""The block is ended when a part of one in so many of the limit is left: a checkpoint has to be written."""
QUICKEST_PAUSE, SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.1, 0.5
"""Seconds between two samples; the first of them while memory grows so fast that the limit is close."""
SHARE = 50
"""The pause is as long that samples take one part in so many of a processor, within those seconds."""
LISTED = 12
"""Processes in the table; the others are added up."""


class MemoryGuard:
    """Ends a block of code before this process and all that it started hold more than ``limit`` bytes::

        with MemoryGuard(6 * 2**30):
            algorithm.train()

    A thread samples them up to ten times a second, for a fiftieth of a processor. With Ray and a runner a
    sample takes 3 ms, and 30 where the limit is so near that shared memory has to be split up. Counted is
    what the system cannot take back in any process: anonymous and shared memory and swap, on Linux as PSS,
    so that pages which several processes share count once. Mapped files and the page cache do not count.
    Elsewhere it is USS, what a process shares with none; psutil tells it.

    When 95 per cent of the limit are held, the main thread gets KeyboardInterrupt, and the block ends with
    BudgetError (a MemoryError) and a table of who holds what. In another thread than the main one, a block is
    not interrupted; BudgetError comes at its end. Where memory grows, samples follow each other the faster
    the nearer the limit is. What takes 5 per cent of the limit in some hundredths of a second passes it for
    so long.

    Args:
        limit: in bytes; 0: there is none, and nothing is sampled.
        on_limit: called with what was measured in the thread that samples when the limit is near, before the
            block is interrupted: what can be ended at once should be. If it fails, BudgetError has its error
            as the cause.

    """

    def __init__(self, limit: int, on_limit: Callable[[Memory], Any] | None = None) -> None:
        self.limit, self._most, self._on_limit = limit, limit - limit // RESERVE, on_limit
        self.samples = 0
        """Samples taken."""
        self.seconds = 0.0
        """Of processor time that they took."""
        self._found: Memory | None = None
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        self._found, self._error = None, None
        if not self.limit:
            return self
        measure([os.getpid()])  # what is missing is said here, not in a thread
        self._over, self._asked = threading.Event(), False
        self._interrupts = threading.current_thread() is threading.main_thread()
        if self._interrupts:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        self._thread = threading.Thread(target=self._watch, name="memory guard", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if not self.limit:
            return
        self._over.set()
        self._thread.join()
        if self._interrupts:
            signal.signal(signal.SIGINT, signal.SIG_DFL if self._before is None else self._before)
        if self._found is not None:
            cause = self._error or (None if kind is KeyboardInterrupt else error)
            raise BudgetError(
                f"{in_mb(self._found.held)} are held, and the limit is {in_mb(self.limit)} "
                f"({self._found.measure}, without mapped files, which the system can take back). "
                f"Who holds what:\n{table_of(self._found.processes)}"
            ) from cause
        if self._error is not None:
            raise self._error

    # ---- the thread -----------------------------------------------------------------------------------

    def _watch(self) -> None:
        try:
            self._found = self._too_much()
            if self._found is not None and self._on_limit is not None:
                self._on_limit(self._found)
        except Exception as error:  # raised where the block ends: no code would see it here
            self._error = error
        if not self._over.is_set():
            self._end_block()

    def _too_much(self) -> Memory | None:
        """Return the memory as soon as it exceeds the limit; None once the block is over."""
        pause, before = SHORTEST_PAUSE, 0
        while not self._over.wait(pause):
            began = time.thread_time()
            level, found = self._sample()
            took = time.thread_time() - began
            self.samples, self.seconds = self.samples + 1, self.seconds + took
            if level > self._most:
                return found
            growth = (level - before) / pause if before else 0.0
            pause, before = self._pause(took, self._most - level, growth), level
        return None

    @staticmethod
    def _pause(took: float, left: int, growth: float) -> float:
        """Return the seconds to the next sample: at most half the time until growth would reach the limit."""
        pause = min(max(SHORTEST_PAUSE, SHARE * took), LONGEST_PAUSE)
        return max(min(pause, left / growth / 2), QUICKEST_PAUSE) if growth > 0 else pause

    def _sample(self) -> tuple[int, Memory | None]:
        """Return how much is held, or a number that it does not exceed as long as that is not too much."""
        pids = process_tree()
        most = most_held(pids)
        if most is not None and most <= self._most:
            return most, None
        found = measure(pids)
        return found.held, found

    def _end_block(self) -> None:
        """Interrupt the main thread until the block has ended."""
        while self._interrupts and not self._over.is_set():
            self._asked = True
            _interrupt()
            self._over.wait(5)  # a destructor may have swallowed the interrupt

    def _on_signal(self, number: int, frame: Any) -> None:
        """Interrupt the block for our own signal; others are dealt with as before."""
        if self._asked and self._is_leaving(frame):
            return  # the block has ended meanwhile, and BudgetError says why
        if self._asked or self._before is signal.SIG_DFL:
            raise KeyboardInterrupt
        if callable(self._before):
            self._before(number, frame)

    def _is_leaving(self, frame: Any) -> bool:
        """Return whether the main thread is within ``__exit__``, which must not be interrupted."""
        while frame is not None:
            if frame.f_code is MemoryGuard.__exit__.__code__ and frame.f_locals["self"] is self:
                return True
            frame = frame.f_back
        return False


def _interrupt() -> None:
    """Send SIGINT to the main thread, which a call to the system returns for."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def table_of(processes: Iterable[ProcessMemory]) -> str:
    """Return a table of processes, the largest first."""
    ordered = sorted(processes, key=lambda one: -one.held)
    own = os.getpid()
    rows = [
        (one.name + " (this one)" * (one.pid == own), str(one.pid), one.held, one.files)
        for one in ordered[:LISTED]
    ]
    if rest := ordered[LISTED:]:
        rows.append(
            (f"{len(rest)} others", "", sum(one.held for one in rest), sum(one.files for one in rest))
        )
    lines = [f"{'process':28}{'pid':>9}{'held MB':>11}{'mapped files MB':>18}"]
    lines += [f"{name:28}{pid:>9}{held / MB:>11,.0f}{files / MB:>18,.0f}" for name, pid, held, files in rows]
    return "\n".join(lines)
