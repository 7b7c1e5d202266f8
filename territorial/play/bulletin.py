"""Bulletin: the newest of some texts, for any number of threads that wait for the next one."""

from __future__ import annotations

import threading
from typing import NamedTuple


class Bulletin:
    """Holds the newest text alone: a thread that is slow misses those between."""

    class Note(NamedTuple):
        """A text and its number, 1 for the first."""

        number: int
        text: bytes

    def __init__(self) -> None:
        self._note = Bulletin.Note(0, b"")
        self._is_closed = False
        self._changed = threading.Condition()

    @property
    def newest(self) -> Bulletin.Note:
        """The newest text; number 0 and an empty one before the first."""
        return self._note

    def post(self, text: bytes) -> None:
        """Make ``text`` the newest."""
        with self._changed:
            self._note = Bulletin.Note(self._note.number + 1, text)
            self._changed.notify_all()

    def close(self) -> None:
        """Say that there will be no more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def after(self, number: int, seconds: float) -> Bulletin.Note | None:
        """Return the newest text once it is later than ``number``, or as it is after so many seconds.

        None: there is none later than ``number``, and there will be none.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._note.number > number, seconds)
            return None if self._is_closed and self._note.number <= number else self._note
