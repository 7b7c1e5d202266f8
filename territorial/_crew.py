"""Threads that share games: each has its own, and helps the others when it is done.

**Queues.** A game that is stepped by the same thread every time is still in the caches of its core, so every
thread begins with a part of its own. But a game costs three times as much at its beginning as at its end; so
whoever has nothing left takes what is left of others.

**Posts.** To wake a thread that sleeps takes some 40 to 80 microseconds, as long as a step of 16 games. So a
thread that is done looks for the next call for about as long, without the GIL, before it goes to sleep. One
that was called and comes when all work is done is not waited for. Each thread has a *post*, with its state:

    ASLEEP      nobody looks at the post: a call has to wake the thread
    WATCHING    it looks, or will without being woken
    CALLED      it has not begun yet
    WORKING     it is at work

Whoever calls makes it CALLED, and takes the call back (WATCHING) from a thread that comes too late; all else
the thread does by itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial._atomic import add, exchange, load, pause, replace
from territorial._jit import JIT_ENABLED, kernel, njit
from territorial.aligned import aligned_zeros
from territorial.cores import usable_cores

NEXT, END, FIRST = range(3)
"""A queue: the next number, and which numbers were in it, [first, end)."""

STATE, TURNS = range(2)
"""A post: its state, and how many times the thread looks at it before it goes to sleep."""

ASLEEP, WATCHING, CALLED, WORKING = range(4)

WIDTH = 16
"""Numbers of a queue and of a post: no two share a line of the cache, which has up to 128 bytes."""

LINGER = 100e-6
"""Seconds for which a thread looks for the next call."""


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
def begins(post: Any) -> bool:
    """Return whether to work (again): the thread was called, or is called before it goes to sleep."""
    if post[STATE] == WORKING:
        exchange(post, WATCHING)
    while True:
        watch(post, post[TURNS])
        if replace(post, CALLED, WORKING):
            return True
        if replace(post, WATCHING, ASLEEP) or load(post) == ASLEEP:
            return False


@njit
def watch(post: Any, turns: int) -> None:
    """Look so many times whether the thread is called."""
    for _ in range(turns):
        if load(post) == CALLED:
            break
        pause()


class Crew:
    """``num_threads`` threads for ``num_games`` games; who calls is the first, the others start when needed.

    Attributes:
        queues: int64 (T, 16), a queue for every thread, with its games.
        posts: int64 (T, 16), a post for every thread.

    """

    def __init__(self, num_games: int, num_threads: int) -> None:
        self.queues = queues_of(0, num_games, num_threads)
        self.posts: npt.NDArray[np.int64] = aligned_zeros((num_threads, WIDTH), np.int64)
        if 1 < num_threads <= usable_cores():  # else who watches a post keeps others from their work
            self.posts[1:, TURNS] = turns_in_linger()
        self._threads: list[ThreadPoolExecutor] = []  # of one thread each, for the same post every time
        self._process = 0
        self._errors: list[BaseException] = []
        self._is_done = True  # the last call, and everybody in it: not if it was interrupted

    def share(self, call: Callable[[int], None]) -> None:
        """Call ``call`` with the number of every thread, in that thread; they ``take`` from the queues."""
        self._prepare()
        jobs = [one.submit(call, number) for number, one in enumerate(self._threads, 1)]
        try:
            call(0)
        finally:
            for job in jobs:
                job.result()
        self._is_done = True

    def share_again(self, call: Callable[[Any], None], arguments: Sequence[Any]) -> None:
        """Call a kernel with each of ``arguments``, one for a thread, that takes when its post ``begins``.

        A thread that watches goes on with what it has. So kernel and arguments must be good for the same as
        those of the last time, unless there was a ``close`` between.
        """
        queues, posts = self.queues, self.posts
        if len(arguments) == 1:  # no time to lose: a step of one game takes microseconds
            queues[0, NEXT], posts[0, STATE] = queues[0, FIRST], CALLED
            call(arguments[0])
            return
        self._prepare()
        asleep = np.empty(len(posts), np.int64)
        try:
            for i in asleep[: call_all(posts, asleep)].tolist():
                self._threads[i - 1].submit(self._attend, call, arguments[i], posts[i])
            call(arguments[0])
            while are_working(posts, posts[1, TURNS]):
                time.sleep(1e-5)
            if self._errors:
                raise self._errors[0]
        except BaseException:
            self.close()
            raise
        self._is_done = True

    def close(self) -> None:
        """Stop the threads; the next call starts new ones."""
        if self._process == os.getpid():  # threads do not survive a fork
            for thread in self._threads:
                thread.shutdown()
        self._threads = []
        self._errors.clear()
        self.posts[:, STATE] = ASLEEP
        self._is_done = True

    def _prepare(self) -> None:
        """Fill the queues, and have all threads there and nobody at work."""
        others = len(self.posts) - 1
        if not self._is_done or (others and self._process != os.getpid()):
            self.close()
        if len(self._threads) < others:
            self._threads = [ThreadPoolExecutor(1, thread_name_prefix="territorial") for _ in range(others)]
            self._process = os.getpid()
        self._is_done = False
        refill(self.queues)

    def _attend(self, call: Callable[[Any], None], argument: Any, post: npt.NDArray[np.int64]) -> None:
        try:
            call(argument)
        except BaseException as error:  # a kernel raises nothing, but it may not compile
            self._errors.append(error)
            post[STATE] = ASLEEP


@kernel
def call_all(posts: Any, asleep: Any) -> int:
    """Call all threads; write the numbers of those to wake (not the first), and return how many they are."""
    number = 0
    exchange(posts[0], CALLED)
    for i in range(1, len(posts)):
        if exchange(posts[i], CALLED) == ASLEEP:
            asleep[number] = i
            number += 1
    return number


@kernel
def are_working(posts: Any, turns: int) -> bool:
    """Take the call back from who has not begun; return whether some still work after so many ``turns``."""
    for i in range(1, len(posts)):
        replace(posts[i], CALLED, WATCHING)
    for i in range(1, len(posts)):
        while load(posts[i]) == WORKING:
            if turns <= 0:
                return True
            turns -= 1
            pause()
    return False


@cache
def turns_in_linger() -> int:
    """Return how many turns of waiting take LINGER seconds; processors pause for 1 to 50 ns."""
    if not JIT_ENABLED:
        return 0
    number, post = 1000, np.zeros(WIDTH, np.int64)
    wait(post, number)  # compiled
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        wait(post, number)
        seconds.append(time.perf_counter() - started)
    return max(1, int(number * LINGER / min(seconds)))


@kernel
def wait(post: Any, turns: int) -> None:
    """Watch a post to which nobody is called."""
    watch(post, turns)
