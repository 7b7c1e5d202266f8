"""Arrays of environments that are lent: what is held never changes, elsewhere what changed is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy.typing as npt

from territorial.engine.lending import NUM_SETS, LentArrays


class Kept(Protocol):
    """An array that stays where it is and is brought up to date."""

    def update(self, *given: Any) -> npt.NDArray[Any]:
        """Return the array, which follows from what is ``given``; it is always the same memory."""


class KeptCopy:
    """A copy of an array that is never written to, and of those that take its place."""

    def __init__(self) -> None:
        self._arrays: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None

    def update(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the copy; nothing is copied if it is one of ``array`` already."""
        known, copy = self._arrays or (array, array.copy())
        if array is not known:
            copy[:] = array
        self._arrays = array, copy
        return copy


class LentInTurn:
    """An array that is lent, in as many memories as the engine lends; ``make`` returns another one."""

    def __init__(self, make: Callable[[], Kept]) -> None:
        self._make = make
        self._by_use: list[tuple[Kept, LentArrays]] = []

    def lend(self, *given: Any) -> npt.NDArray[Any]:
        """Return what follows from what is ``given``, read-only; if all memories are held, in a new one."""
        free = next((one for one in reversed(self._by_use) if not one[1].are_held), None)
        if free is not None:  # the latest one is the least behind
            kept, lent = free
            self._by_use.remove(free)
            kept.update(*given)
        else:
            kept = self._make()
            lent = LentArrays([kept.update(*given)])
        if len(self._by_use) < NUM_SETS - 1:
            self._by_use.append((kept, lent))
        return lent.lend()[0]
