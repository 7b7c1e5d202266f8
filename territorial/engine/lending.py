"""Lending: observations without a copy that never change, as the engine writes the next ones elsewhere.

Buffers get several sets of entries, see ``territorial.observation.tables.Buffers``. A set that is lent is
written again only when nothing refers to its arrays any more, nor to a view of one. To bring an entry up to
date takes far less than to copy it, as few words of a stack of boards change. Where all sets are held, the
engine writes into a set that is never lent, and copies are returned.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.engine.batch_arrays import BatchArrays, Views
from territorial.engine.compiled_calls import CompiledCalls
from territorial.engine.step import SHOWS, WHOLE, Batch
from territorial.jit.thread_pool import Crew
from territorial.observation.layout import ObsLayout
from territorial.observation.tables import (
    NUM_CONTENTS,
    Buffers,
    Observations,
    allocate_buffers,
    contents_of,
    entry_of,
    observations_of,
)

OWN = 0
"""The set that is never lent."""
NUM_SETS = 4
"""One to hold, one to write, one more for who holds an observation and the one before; and ``OWN``."""
LENT = ("planes", "players", "borders", "globals")
"""The arrays of ``Observations`` that are lent."""
LENT_FROM = 2**18
"""Bytes of what is lent from which lending is quicker than copying."""


class LentArray:
    """An array that is lent: read-only, and a new one every time, over the same memory.

    What is lent is a view of a *root*. Whatever refers to that memory refers to the root: other views,
    memoryviews, tensors. So when the root is gone, the memory can be read no more. That is how numpy itself
    knows when to free memory, and it is so in all threads, with or without a global lock.

    Args:
        memory: a contiguous array, written to only while it is not held.
        shown: what is lent, a view of ``memory`` from its first byte on; default None: all of it.

    """

    def __init__(self, memory: npt.NDArray[Any], shown: npt.NDArray[Any] | None = None) -> None:
        self._bytes = frozen(memory.reshape(-1).view(np.uint8)).data  # no view of this can be made writable
        self._shown = memory if shown is None else shown
        self._root: weakref.ref[npt.NDArray[np.uint8]] | None = None

    @property
    def is_held(self) -> bool:
        """Whether anything refers to what was lent."""
        return self._root is not None and self._root() is not None

    def lend(self) -> npt.NDArray[Any]:
        """Return the array; it cannot be made writable."""
        root = None if self._root is None else self._root()
        if root is None:
            root = np.frombuffer(self._bytes, np.uint8)
            self._root = weakref.ref(root)
        shown = self._shown
        return np.ndarray(shown.shape, shown.dtype, root, 0, shown.strides)


class Lender:
    """What a batch lends of its observations.

    Args:
        arrays: those of the batch so far, with one set of buffers; from now on it is to use ``arrays`` of
            this object.
        layout: of the observations.
        views: what users see of them, which are to be of the set that the observations are in.

    """

    def __init__(self, arrays: BatchArrays, layout: ObsLayout, views: Views) -> None:
        self._shown = views
        self._num_games = len(arrays.buffers.shown)
        self._buffers = _in_sets(arrays.buffers, layout)
        self._are_last = arrays.final_buffers is arrays.buffers
        last = self._buffers if self._are_last else arrays.final_buffers
        self.arrays = arrays._replace(buffers=self._buffers, final_buffers=last)
        sets = [_contents(self._buffers, number) for number in range(NUM_SETS)]
        self._views = [observations_of(contents, layout) for contents in sets]
        self._lent = [_lent_arrays(*both) for both in zip(sets, self._views, strict=True)]
        self._all_in = [np.full(self._num_games, number, np.int64).tobytes() for number in range(NUM_SETS)]
        self._by_use = [number for number in range(NUM_SETS) if number != OWN]
        self._turn_to(OWN)

    def lend(self) -> Observations:
        """Return the observations of all games: those that are lent in read-only arrays that never change."""
        self._gather()
        views = self._views[self._target]
        if self._target == OWN:
            return _as_copies(views)
        return views._replace(**{name: array.lend() for name, array in self._lent[self._target].items()})

    def make_way(self, *, keeps_others: bool) -> None:
        """Let the next observations be written where no array is held.

        ``keeps_others``: not all games will be observed, so those of the others come along.
        """
        free = (number for number in reversed(self._by_use) if not self._is_held(number))
        target = next(free, OWN)  # the latest one that is not held: it is the least behind
        if target == self._target:
            return
        if target != OWN:
            self._by_use.remove(target)
            self._by_use.append(target)
        self._turn_to(target)
        if keeps_others:
            self._gather()

    def _is_held(self, number: int) -> bool:
        return any(array.is_held for array in self._lent[number].values())

    def _turn_to(self, target: int) -> None:
        """Let the next observations be written into ``target``, and be shown there."""
        self._buffers.target[0] = self._target = target
        self._shown.move(self._views[target], are_last=self._are_last)

    def _gather(self) -> None:
        """Copy the observations that are in other sets into the target."""
        buffers, target = self._buffers, self._target
        if buffers.shown.tobytes() == self._all_in[target]:  # quicker than numpy's operators
            return
        games = np.flatnonzero(buffers.shown != target)
        old, new = entry_of(buffers, games), target * self._num_games + games
        for array in (*buffers[:NUM_CONTENTS], buffers.written_at, buffers.changed):
            array[new] = array[old]
        buffers.shown[games] = target


class LendingCalls(CompiledCalls):
    """The compiled calls of a batch that lends its observations: none writes to what is held."""

    def __init__(self, batches: Sequence[Batch], specialize: bool | None, crew: Crew, lender: Lender) -> None:
        super().__init__(batches, specialize, crew)
        self._lender, self._numbers = lender, batches[0].call.numbers

    def step_games(self) -> None:
        """Play one step of all games."""
        self._lender.make_way(keeps_others=self._numbers[SHOWS] != WHOLE)
        super().step_games()

    def reset_games(self, seeds: npt.NDArray[np.uint64], episodes: npt.NDArray[np.int64]) -> None:
        """Reset all games."""
        self._lender.make_way(keeps_others=False)
        super().reset_games(seeds, episodes)

    def reset_game(self, k: int, seeds: npt.NDArray[np.uint64], episodes: npt.NDArray[np.int64]) -> None:
        """Reset game ``k``."""
        self._lender.make_way(keeps_others=True)
        super().reset_game(k, seeds, episodes)

    def observe_game(self, k: int) -> None:
        """Observe game ``k`` as it stands."""
        self._lender.make_way(keeps_others=True)
        super().observe_game(k)


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``array``, read-only from now on."""
    array.setflags(write=False)  # a quarter of the time of ``flags.writeable``
    return array


def pays(observations: Observations) -> bool:
    """Return whether to lend ``observations`` is quicker than to copy them: copies of little are cheap."""
    num_bytes: int = sum(getattr(observations, name).nbytes for name in LENT)
    return num_bytes >= LENT_FROM


def _as_copies(observations: Observations) -> Observations:
    """Return ``observations`` with copies of what would be lent, as read-only as that."""
    return observations._replace(**{name: frozen(getattr(observations, name).copy()) for name in LENT})


def _in_sets(buffers: Buffers, layout: ObsLayout) -> Buffers:
    """Return buffers of ``NUM_SETS`` sets that show what ``buffers`` do, in ``OWN``."""
    num_games = len(buffers.shown)
    several = allocate_buffers(layout, num_games, NUM_SETS)
    own = _contents(several, OWN)
    for array, known in zip(own[:NUM_CONTENTS], contents_of(buffers)[:NUM_CONTENTS], strict=True):
        array[:] = known
    several.written_at[:num_games] = several.clock  # the other sets are far behind
    return several


def _contents(buffers: Buffers, number: int) -> Buffers:
    """Return what is observed in one set, as views."""
    num_games = len(buffers.shown)
    first = number * num_games
    contents: Any = (array[first : first + num_games] for array in buffers[:NUM_CONTENTS])
    return Buffers(*contents)


def _lent_arrays(contents: Buffers, views: Observations) -> dict[str, LentArray]:
    """Return what is lent of one set, by the names of ``Observations``."""
    memory = contents._asdict() | {"planes": contents.boards}
    return {name: LentArray(memory[name], getattr(views, name)) for name in LENT}
