"""Progress of long work, as a line on stderr."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from territorial._log import is_quiet, is_terminal

Game = TypeVar("Game")

SHOW_EVERY = 2.0
"""Seconds between two lines that stay, where there is no terminal."""
WIDTH = 100
"""Of a line that is rewritten: so many columns of the one before are covered."""
_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"))


class ProgressLine:
    """A line on stderr, printed ten times a second on a terminal, and else every two seconds.

    With ``--quiet`` nothing is printed.
    """

    def __init__(self) -> None:
        self._stream, self._is_terminal, self._is_quiet = sys.stderr, is_terminal(sys.stderr), is_quiet()
        self._period = 0.1 if self._is_terminal else SHOW_EVERY
        self._shown, self._is_open = time.perf_counter(), False

    def show(self, text: str) -> None:
        """Print the line if it is time to."""
        now = time.perf_counter()
        if now - self._shown >= self._period and not self._is_quiet:
            self._shown, self._is_open = now, self._is_terminal
            print(f"{text:{WIDTH}}", end="\r" if self._is_open else "\n", file=self._stream, flush=True)

    def close(self, text: str = "") -> None:
        """Write a last line, if there is a ``text``; later output begins on a new line."""
        if (text or self._is_open) and not self._is_quiet:
            print(f"{text:{WIDTH}}" if text else "", file=self._stream, flush=True)
        self._is_open = False


class Progress:
    """The progress line of ``games``; games done before the first ``show`` do not count for the speed."""

    def __init__(self, games: int) -> None:
        self._games, self._done = games, 0
        self._line, self._started, self._before = ProgressLine(), 0.0, -1

    def show(self, done: int, remark: str) -> None:
        """Note how many games are done, and print the line if it is time to."""
        self._done = done
        if self._before < 0:
            self._before, self._started = done, time.perf_counter()
        self._line.show(self._text(remark))

    def close(self) -> None:
        """Print the last line, if there has been one."""
        self._line.close("" if self._before < 0 else self._text(""))

    def _text(self, remark: str) -> str:
        played, seconds = self._done - self._before, time.perf_counter() - self._started
        bar = "#" * (20 * self._done // self._games)
        left = time_left(played, self._games - self._done, seconds)
        speed = f"{played / seconds:.1f} a second, {left}" if left else ""
        return f"{self._done:,} of {self._games:,} games [{bar:20}]  {speed}  {remark}"


def counted(
    games: Iterable[Game], total: int, done: int = 0, remark: Callable[[Game], str] = lambda _: ""
) -> Iterator[Game]:
    """Yield ``games`` while a line on stderr says how many of ``total`` are done, ``done`` of them before."""
    line = Progress(total)
    try:
        for number, game in enumerate(games, start=done + 1):
            line.show(number, remark(game))
            yield game
    finally:
        line.close()


def time_left(done: int, missing: int, seconds: float) -> str:
    """Return such as "5 h left" for ``missing``, if ``done`` took ``seconds``; "" while it is unknown."""
    if done <= 0 or seconds <= 0:
        return ""
    left = seconds / done * missing
    # At least two of a unit: 119 s, but 2 min.
    size, name = next(((size, name) for size, name in _UNITS if left >= 2 * size), (1, "s"))
    number = round(left / size)
    return f"{number} {name} left" if number < 1000 else f"more than 999 {name} left"
