"""How far games are: one line, rewritten on a terminal, else a new one now and then."""

from __future__ import annotations

import time
from typing import TextIO

from territorial.evaluation.time_left import time_left

SHOW_EVERY = 2.0
"""Seconds between two lines that stay, where there is no terminal."""


class Progress:
    """The line on games: of so many ``games``, so many are ``done`` already.

    ``done`` None: those of the first call were; an estimate of the rest needs two points.
    """

    def __init__(self, games: int, done: int | None, stream: TextIO) -> None:
        self._games, self._done, self._before, self._stream = games, done or 0, done, stream
        self._started = self._shown = time.perf_counter()
        self._is_terminal = stream.isatty()

    def show(self, done: int, remark: str) -> None:
        """Note how many games are done, and print the line if it is time to."""
        self._done, now = done, time.perf_counter()
        if self._before is None:
            self._before, self._started = done, now
        if now - self._shown >= (0.1 if self._is_terminal else SHOW_EVERY):
            self._shown = now
            self._print(now, remark)

    def close(self) -> None:
        """Print the last line."""
        if self._before is not None:
            self._print(time.perf_counter(), "")
            if self._is_terminal:
                print(file=self._stream)

    def _print(self, now: float, remark: str) -> None:
        played, seconds = self._done - (self._before or 0), now - self._started
        bar = "#" * (20 * self._done // self._games)
        left = time_left(played, self._games - self._done, seconds)
        speed = f"{played / seconds:.1f} a second, {left}" if left else ""
        text = f"{self._done:,} of {self._games:,} games [{bar:20}]  {speed}  {remark}"
        print(f"{text:100}", end="\r" if self._is_terminal else "\n", file=self._stream, flush=True)
