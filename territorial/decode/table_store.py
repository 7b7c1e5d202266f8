"""``TableStore``: tables of many games and steps, stored as changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.validation import holds_whole_numbers, whole_number
from territorial.jit.decorators import kernel, njit
from territorial.jit.simd import at
from territorial.typing import Floats32, Ints


class Changes(NamedTuple):
    """The numbers that changed from one step to the next, game by game: of E games, or of T steps of them."""

    ends: Ints  # (E,) or (T, E): where those of a game end in the others; they begin where those before end
    places: npt.NDArray[np.unsignedinteger[Any]]  # which number of the game it is
    bits: npt.NDArray[np.uint32]  # those of its new value


class TableStore:
    """Rows of S float32 for E games, step after step; every one comes back to the bit.

    Args:
        num_games: E.
        num_numbers: S, the length of a row.

    The first step is kept as it differs from zeros, every other as it differs from the one before. Looking
    a row up goes through all steps up to it, so that this is for the hundreds of steps of a sample and not
    for a replay buffer. The steps are numbered from 0 on; there are those from ``first`` up to ``end``.

    """

    def __init__(self, num_games: int, num_numbers: int) -> None:
        self.num_games = whole_number("num_games", num_games, 1)
        self.num_numbers = whole_number("num_numbers", num_numbers, 1)
        self.first = 0
        """The oldest step that is still there; ``end`` if there is none."""
        self._newest = np.zeros((self.num_games, self.num_numbers), np.uint32)
        self._dtype = np.uint16 if self.num_numbers <= 1 << 16 else np.uint32
        self._steps: list[Changes] = []
        self._joined: Changes | None = None  # the same end to end, once somebody looks things up

    @property
    def end(self) -> int:
        """The number that the next step gets."""
        return self.first + len(self._steps)

    def __len__(self) -> int:
        """Return how many steps are there; each is one of all games."""
        return len(self._steps)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored tables."""
        return sum(array.nbytes for step in self._steps for array in step)

    def append(self, rows: Floats32) -> int:
        """Store float32 (E, S), the rows of all games at the next step, and return its number."""
        shape = self.num_games, self.num_numbers
        if not isinstance(rows, np.ndarray) or rows.dtype != np.float32 or rows.shape != shape:
            what = f"{rows.dtype} {rows.shape}" if isinstance(rows, np.ndarray) else type(rows).__name__
            raise ValueError(f"rows is {what}; it must be an array of float32 {shape}")
        bits = np.ascontiguousarray(rows).view(np.uint32)
        ends = np.empty(self.num_games, np.int64)
        index: Any = np.empty(bits.size, self._dtype)
        values = np.empty(bits.size, np.uint32)
        count = list_changes(bits, self._newest, ends, index, values)
        self._steps.append(Changes(ends, index[:count].copy(), values[:count].copy()))
        self._joined = None
        return self.end - 1

    def since(self, step: int) -> TableStore:
        """Return a store of its own that has the steps from ``step`` on, under the same numbers.

        ``step``: one that is there, or ``end``.
        """
        step = whole_number("step", step, self.first, self.end)
        store = TableStore(self.num_games, self.num_numbers)
        store.first = step
        if step < self.end:
            store.append(self.rows(np.arange(self.num_games), np.full(self.num_games, step)))
            store._steps += self._steps[step + 1 - self.first :]
            store._newest = self._newest.copy()
        return store

    def rows(self, games: npt.ArrayLike, times: npt.ArrayLike) -> Floats32:
        """Return a new float32 (n, S): the rows of ``games`` (n,) at the steps ``times`` (n,), in any order.

        IndexError for games and steps that are not there.
        """
        chosen, when = checked_places(games, times, self)
        order = np.lexsort((when, chosen))
        wanted = np.empty((len(order), 3), np.int64)
        wanted[:, SLOT], wanted[:, GAME], wanted[:, STEP] = order, chosen[order], when[order] - self.first
        rows = np.zeros((len(chosen), self.num_numbers), np.uint32)
        if len(rows):
            self._joined = self._joined or _end_to_end(self._steps)
            rebuild_rows(*self._joined, wanted, rows)
        return rows.view(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        joined = _end_to_end(self._steps) if self._steps else None
        return {**self.__dict__, "_steps": None, "_newest": None, "_joined": joined}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Arrays that were unpickled without a copy are read-only, for which kernels would be compiled anew.
        old = self._joined
        joined = old and Changes(old.ends.copy(), old.places.copy(), old.bits.copy())
        self._steps, self._joined = [] if joined is None else _step_by_step(joined), joined
        self._newest = np.zeros((self.num_games, self.num_numbers), np.uint32)
        if self._steps:
            last = np.full(self.num_games, self.end - 1)
            self._newest = self.rows(np.arange(self.num_games), last).view(np.uint32)


def _end_to_end(steps: list[Changes]) -> Changes:
    """Join the changes of T steps, at least one."""
    counts = np.array([len(step.places) for step in steps])
    ends, places, bits = (list(arrays) for arrays in zip(*steps, strict=True))
    all_ends = np.stack(ends) + (counts.cumsum() - counts)[:, None]
    return Changes(all_ends, np.concatenate(places), np.concatenate(bits))


def _step_by_step(joined: Changes) -> list[Changes]:
    """Split joined changes into steps again, the inverse of ``_end_to_end``."""
    bounds = np.concatenate([[0], joined.ends[:, -1]]).tolist()
    return [
        Changes(ends - first, joined.places[first:end], joined.bits[first:end])
        for ends, (first, end) in zip(joined.ends, pairwise(bounds), strict=True)
    ]


def checked_places(games: npt.ArrayLike, times: npt.ArrayLike, store: Any) -> tuple[Ints, Ints]:
    """Return ``games`` and ``times`` as int64 (n,) each; IndexError unless they are in ``store``."""
    ranges = {"games": (games, 0, store.num_games), "times": (times, store.first, store.end)}
    checked = []
    for name, (values, low, end) in ranges.items():
        array = np.asarray(values)
        if array.ndim != 1 or (array.size > 0 and not holds_whole_numbers(array)):
            raise TypeError(f"{name} is {array.dtype} {array.shape}; it must hold whole numbers and be (n,)")
        is_wrong = (array < low) | (array >= end)
        if is_wrong.any():
            i = int(is_wrong.argmax())
            raise IndexError(
                f"{name}[{i}] is {array[i]}; the store has the {name} from {low} up to, "
                f"but not including, {end}"
            )
        checked.append(array.astype(np.int64))
    if len(checked[0]) != len(checked[1]):
        raise ValueError(
            f"games has {len(checked[0])} entries and times has {len(checked[1])}; both must have the same "
            "number"
        )
    return checked[0], checked[1]


@kernel
def list_changes(rows: Any, newest: Any, ends: Any, index: Any, bits: Any) -> int:
    """Write the differences of ``rows`` (E, S) from ``newest`` into a step's arrays, and update ``newest``.

    Returned is how many numbers there are.
    """
    count = 0
    for k in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            if rows[k, i] != newest[k, i]:
                newest[k, i] = rows[k, i]
                index[count] = i
                bits[count] = rows[k, i]
                count += 1
        ends[k] = count
    return count


SLOT, GAME, STEP = range(3)
"""The columns of what ``rebuild_rows`` is asked for."""


@kernel
def rebuild_rows(ends: Any, index: Any, bits: Any, wanted: Any, out: Any) -> None:
    """Write rows of games into ``out`` (n, S), which holds zeros.

    ``wanted``: int64 (n, 3), columns SLOT, GAME, STEP: place in ``out``, game and step; sorted by game, then
    step. A row goes on from the one before, if that is of the same game.
    """
    for i in range(len(wanted)):
        slot, game, time = wanted[i, SLOT], wanted[i, GAME], wanted[i, STEP]
        first = 0
        if i > 0 and wanted[i - 1, GAME] == game:
            for j in range(out.shape[1]):
                out[slot, j] = out[wanted[i - 1, SLOT], j]
            first = wanted[i - 1, STEP] + 1
        for step in range(first, time + 1):
            apply_step(ends, index, bits, step, game, out[slot])


@njit
def apply_step(ends: Any, index: Any, bits: Any, step: int, game: int, row: Any) -> None:
    """Bring a row from the step before to ``step``."""
    place = step * ends.shape[1] + game
    begin = at(ends, place - 1) if place > 0 else 0
    for j in range(begin, at(ends, place)):
        row[index[j]] = bits[j]
