"""How far the games of a schedule are: one line, rewritten on a terminal, else a new one now and then."""

from __future__ import annotations

import time
from typing import TextIO

import numpy as np

from territorial.bots import short
from territorial.evaluation.record import GameRecord
from territorial.evaluation.time_left import time_left

SHOW_EVERY = 2.0
"""Seconds between two lines that stay, where there is no terminal."""


class Progress:
    """The line on games: of so many ``games``, so many are ``done`` already."""

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
