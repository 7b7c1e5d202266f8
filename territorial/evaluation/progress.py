"""How far a contest or an evaluation is: one line, rewritten on a terminal, else a new one now and then."""

from __future__ import annotations

import sys
import time
from typing import TextIO

import numpy as np

from territorial.bots import short
from territorial.evaluation.record import GameRecord
from territorial.evaluation.time_left import time_left

SHOW_EVERY = 2.0
"""Seconds between two lines of a contest that stay, where there is no terminal."""


class ContestProgress:
    """The line of a contest: of so many ``games``, so many are ``done`` already."""

    def __init__(self, games: int, done: int, stream: TextIO) -> None:
        self._games, self._done, self._before, self._stream = games, done, done, stream
        self._started = self._shown = time.perf_counter()
        self._is_terminal = stream.isatty()

    def show(self, record: GameRecord) -> None:
        """Count a game, and print the line if it is time to."""
        self._done += 1
        now = time.perf_counter()
        if now - self._shown >= (0.1 if self._is_terminal else SHOW_EVERY):
            self._shown = now
            winner = short(record.seats[int(np.argmin(record.places))])
            self._print(now, f"last won by {winner}")

    def close(self) -> None:
        """Print the last line."""
        self._print(time.perf_counter(), "")
        if self._is_terminal:
            print(file=self._stream)

    def _print(self, now: float, remark: str) -> None:
        played, seconds = self._done - self._before, now - self._started
        bar = "#" * (20 * self._done // self._games)
        left = time_left(played, self._games - self._done, seconds)
        speed = f"{played / seconds:.1f} a second, {left}" if left else ""
        text = f"{self._done:,} of {self._games:,} games [{bar:20}]  {speed}  {remark}"
        print(f"{text:100}", end="\r" if self._is_terminal else "\n", file=self._stream, flush=True)


class EvaluationProgress:
    """The line of an evaluation, of so many ``portions``."""

    def __init__(self, portions: int, policies: int, settings: int) -> None:
        self._portions, self._what = portions, f"{policies} policies, {settings} settings"
        self._done, self._is_terminal = 0, sys.stderr.isatty()
        self._started = self._shown = time.monotonic()

    def show(self) -> None:
        """Count a portion, and print the line if it is time to."""
        self._done += 1
        now = time.monotonic()
        if now - self._shown >= (0.2 if self._is_terminal else 10.0):
            self._shown = now
            left = time_left(self._done, self._portions - self._done, now - self._started)
            self._print(f"{self._done:,} of {self._portions:,} portions, {left} ({self._what})")

    def close(self) -> None:
        """Print the last line, if it took a while."""
        seconds = time.monotonic() - self._started
        if seconds > 2:
            self._print(f"{self._done:,} of {self._portions:,} portions in {seconds:.0f} s ({self._what})")
            if self._is_terminal:
                sys.stderr.write("\n")

    def _print(self, text: str) -> None:
        sys.stderr.write(f"{text:90}" + ("\r" if self._is_terminal else "\n"))
        sys.stderr.flush()
