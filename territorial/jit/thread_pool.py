"""``ThreadPool``: work-stealing threads that step the games of a batch.

**Queues.** A game that is stepped by the same thread every time is still in the caches of its core, so every
thread begins with a part of its own. But a game costs three times as much at its beginning as at its end; so
a thread whose queue is empty takes games from the queues of others.

**Thread states.** To wake a thread that sleeps takes some 40 to 80 microseconds, as long as a step of 16
games. So a thread that is done spins for about as long, without the GIL, before it goes to sleep. A thread
that was called and comes when all work is done is not waited for. Each thread has a state:

    ASLEEP      the thread waits for a job: a call has to give it one
    WATCHING    the thread spins, or will without being given a job
    CALLED      the thread has not begun yet
    WORKING     the thread is running

The caller makes the state CALLED, and takes the call back (WATCHING) from a thread that comes too late; all
other changes are the thread's own.

**Interrupts.** A KeyboardInterrupt can be raised in the caller wherever it calls something, also in the
middle of starting a thread or of cleaning up. So a call notes that it has begun before it hands anything out,
and that it is done when no thread works any more. After a call that was interrupted between the two,
``shutdown`` stops the threads. It can itself be interrupted and called again; when it is done, no thread is
left.
"""

from __future__ import annotations

import os
import threading
import time
import timeit
import weakref
from _thread import start_new_thread  # threading.Thread.start can be interrupted half-way
from collections.abc import Callable, Sequence
from functools import cache, partial
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.files.cores import usable_cores
from territorial.jit.decorators import JIT_ENABLED, kernel, njit
from territorial.jit.library import check_status
from territorial.jit.simd import aligned_zeros

NEXT, END, FIRST = range(3)
"""A queue: the next number, and which numbers were in it, [first, end)."""

STATE, TURNS = range(2)
"""What is kept of a thread: its state, and how many times it looks at that before it goes to sleep."""

ASLEEP, WATCHING, CALLED, WORKING = range(4)

WIDTH = 16
"""Numbers of a queue and of a thread: no two share a line of the cache, which has up to 128 bytes."""

SPIN_SECONDS = 100e-6
"""Seconds for which a thread looks for the next call."""

STOP_TIMEOUT_S = 60.0
"""Seconds after which ``shutdown`` gives up on a thread; a step of one game takes thousandths of a second."""


# ---- numbers that several threads change -----------------------------------------------------------
#
# No other thread comes between these operations, on the first entry of an int64 array. What a thread wrote
# before one of them (``load`` apart) is seen by the code that finds its result there.

_one = threading.Lock()


def load(array: Any) -> int:
    """Return the number; earlier writes of other threads are visible from now on."""
    return int(array[0])


def exchange(array: Any, value: int) -> int:
    """Write ``value`` and return the previous number."""
    with _one:
        found, array[0] = int(array[0]), value
        return found


def replace(array: Any, old: int, new: int) -> bool:
    """Write ``new`` where ``old`` is; return whether it was."""
    with _one:
        is_there = bool(array[0] == old)
        if is_there:
            array[0] = new
        return is_there


def add(array: Any, number: int) -> int:
    """Add ``number`` and return the previous sum."""
    with _one:
        array[0] += number
        return int(array[0]) - number


def pause() -> None:
    """Let the other thread of this core have it for a moment, where there is a way to say so."""


# ---- queues and thread states ----------------------------------------------------------------------


def queues_of(first: int, end: int, num_threads: int = 1) -> npt.NDArray[np.int64]:
    """Return full queues, int64 (T, 16), of the numbers [first, end), of about as many for every thread."""
    queues: npt.NDArray[np.int64] = aligned_zeros((num_threads, WIDTH), np.int64)
    bounds = first + np.arange(num_threads + 1) * (end - first) // num_threads
    queues[:, FIRST], queues[:, END] = bounds[:-1], bounds[1:]
    refill(queues)
    return queues


def refill(queues: npt.NDArray[np.int64]) -> None:
    """Put all numbers into the queues again."""
    queues[:, NEXT] = queues[:, FIRST]


@njit
def take(queues: Any, thread: int) -> int:
    """Take a number from the queue of ``thread``, or else from another's; -1 if all are empty.

    No other thread gets the same.
    """
    for _ in range(len(queues)):
        queue = queues[thread]
        if queue[NEXT] < queue[END]:
            number = add(queue, 1)
            if number < queue[END]:
                return number
        thread = thread + 1 if thread + 1 < len(queues) else 0
    return -1


@njit
def begins(thread_state: Any) -> bool:
    """Return whether to work (again): the thread was called, or is called before it goes to sleep."""
    if thread_state[STATE] == WORKING:
        exchange(thread_state, WATCHING)
    while True:
        for _ in range(thread_state[TURNS]):
            if load(thread_state) == CALLED:
                break
            pause()
        if replace(thread_state, CALLED, WORKING):
            return True
        if replace(thread_state, WATCHING, ASLEEP) or load(thread_state) == ASLEEP:
            return False


class ThreadPool:
    """``num_threads`` threads for ``num_games`` games; the caller is the first, the others start when needed.

    Attributes:
        queues: int64 (T, 16), a queue for every thread, with its games.
        thread_states: int64 (T, 16), the state of every thread.
        is_interrupted: a call has begun and is not done: ``shutdown`` before the games are touched.

    """

    def __init__(self, num_games: int, num_threads: int) -> None:
        self.queues = queues_of(0, num_games, num_threads)
        self.thread_states: npt.NDArray[np.int64] = aligned_zeros((num_threads, WIDTH), np.int64)
        if 1 < num_threads <= usable_cores():  # else who watches a state keeps others from their work
            self.thread_states[1:, TURNS] = turns_in_linger()
        self.is_interrupted = False
        self._threads: Threads | None = None
        self._errors: list[BaseException] = []

    def run(self, call: Callable[[Any], Any], arguments: Sequence[Any]) -> None:
        """Call a kernel with each of ``arguments``, one for a thread, that takes when it ``begins``.

        A thread that watches continues with what it has. So kernel and arguments must be good for the same as
        those of the last time, unless there was a ``shutdown`` between.
        """
        queues, thread_states = self.queues, self.thread_states
        if len(arguments) == 1:  # no time to lose: a step of one game takes microseconds
            queues[0, NEXT], thread_states[0, STATE] = queues[0, FIRST], CALLED
            check_status(call(arguments[0]), call)
            return
        if self.is_interrupted:
            self.shutdown()
        self.is_interrupted = True
        refill(queues)
        asleep = np.empty(len(thread_states), np.int64)
        try:
            threads = self._started()
            for i in asleep[: call_all(thread_states, asleep)].tolist():
                threads.jobs[i - 1].put(partial(self._attend, call, arguments[i], thread_states[i]))
            check_status(call(arguments[0]), call)
            while are_working(thread_states, thread_states[1, TURNS]):
                time.sleep(1e-5)
            if self._errors:
                raise self._errors[0]
        except BaseException:
            self.shutdown()
            raise
        self.is_interrupted = False

    def shutdown(self) -> None:
        """Stop the threads, once each has finished the game that it is at; the next call starts new ones.

        Raises RuntimeError if one of them is still running after STOP_TIMEOUT_S seconds.
        """
        self.is_interrupted = True
        self.queues[:, NEXT] = self.queues[:, END]  # there is nothing left to take
        are_working(self.thread_states, 0)  # no thread that has not begun will
        if self._threads is not None:
            self._threads.stop()
        self._threads = None
        self.thread_states[:, STATE] = ASLEEP
        self._errors = []
        self.is_interrupted = False

    def _started(self) -> Threads:
        """Return the threads, each of which waits for jobs or watches its state."""
        threads = self._threads
        if threads is None or threads.process != os.getpid():  # threads do not survive a fork
            self.thread_states[:, STATE] = ASLEEP
            self._threads = threads = Threads(len(self.thread_states) - 1)
        return threads

    def _attend(self, call: Callable[[Any], Any], argument: Any, thread_state: npt.NDArray[np.int64]) -> None:
        try:
            check_status(call(argument), call)
        except BaseException as error:
            self._errors.append(error)
            thread_state[STATE] = ASLEEP


class Threads:
    """``number`` threads, each of which does the jobs that are put into its queue.

    No job can be put before all of them wait for one; so an interrupt while they start leaves no thread
    running.

    Attributes:
        jobs: a queue for each thread.
        process: the process that they are in.

    """

    def __init__(self, number: int) -> None:
        self.jobs: list[SimpleQueue[Any]] = [SimpleQueue() for _ in range(number)]
        self.process = os.getpid()
        self._gone: list[None] = []
        ready: list[None] = []
        for jobs in self.jobs:
            owner = weakref.ref(self, jobs.put)  # no code in Python: an interrupt within that would be lost
            start_new_thread(_serve, (jobs, owner, ready, self._gone))
        while len(ready) < number:
            time.sleep(1e-5)

    def stop(self) -> None:
        """Let them end, and wait until they have; RuntimeError after STOP_TIMEOUT_S seconds."""
        for jobs in self.jobs:
            jobs.put(None)
        until = time.monotonic() + STOP_TIMEOUT_S
        while self.process == os.getpid() and len(self._gone) < len(self.jobs):
            if time.monotonic() > until:
                at_work = len(self.jobs) - len(self._gone)
                raise RuntimeError(
                    f"{at_work} threads of an interrupted or failed step are still running "
                    f"after {STOP_TIMEOUT_S:g} s; a step of one game must take less. Try again later"
                )
            time.sleep(1e-5)


def _serve(jobs: SimpleQueue[Any], owner: Any, ready: list[None], gone: list[None]) -> None:
    """Do jobs until there is None, or ``owner``: no caller is left that could ask for more."""
    ready.append(None)
    while (job := jobs.get()) is not None and job is not owner:
        job()
        del job
    gone.append(None)


@kernel
def call_all(thread_states: Any, asleep: Any) -> int:
    """Call all threads; write the numbers of threads to wake (not the first), and return their count."""
    number = 0
    exchange(thread_states[0], CALLED)
    for i in range(1, len(thread_states)):
        if exchange(thread_states[i], CALLED) == ASLEEP:
            asleep[number] = i
            number += 1
    return number


@kernel
def are_working(thread_states: Any, turns: int) -> bool:
    """Take the call back from idle threads; return whether some still work after so many ``turns``."""
    for i in range(1, len(thread_states)):
        replace(thread_states[i], CALLED, WATCHING)
    for i in range(1, len(thread_states)):
        while load(thread_states[i]) == WORKING:
            if turns <= 0:
                return True
            turns -= 1
            pause()
    return False


@cache
def turns_in_linger() -> int:
    """Return how many turns of waiting take SPIN_SECONDS seconds; processors pause for 1 to 50 ns."""
    if not JIT_ENABLED:
        return 0
    number, thread_states = 1000, np.zeros((2, WIDTH), np.int64)
    thread_states[1, STATE] = WORKING
    are_working(thread_states, number)  # compiled
    seconds = timeit.repeat(partial(are_working, thread_states, number), number=1, repeat=5)
    return max(1, int(number * SPIN_SECONDS / min(seconds)))
