"""Lending: observations without a copy that never change, as the engine writes the next ones elsewhere.

Buffers get several sets of entries, see ``territorial.observation.tables.Buffers``. A set that is lent is
written again only when none of its arrays is held any more, nor a view of one. To bring an entry up to date
takes far less than to copy it, as few words of a stack of boards change. Where all sets are held, the engine
writes into a set that is never lent, and copies are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
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
    boards_as_planes,
    contents_of,
    entry_of,
    observations_of,
)

OWN = 0
"""The set that is never lent."""
NUM_SETS = 4
"""One to hold, one to write, one more for who holds an observation and the one before; and ``OWN``."""


class LentArrays:
    """Arrays that are lent: read-only views of the same memory, new ones every time.

    A view of a view refers to the first array that is not itself a view of one. So each view refers to one
    of the *roots*, and a root that nothing but this object refers to is not held.

    Attributes:
        views: what is lent, a view of each root.

    """

    def __init__(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        self._roots = [np.frombuffer(_read_only(array), array.dtype) for array in arrays]
        self.views = [root.reshape(array.shape) for root, array in zip(self._roots, arrays, strict=True)]
        self._counts_if_free = self._counts()

    @property
    def are_held(self) -> bool:
        """Whether an array that was lent is held, or a view of one."""
        return self._counts() != self._counts_if_free

    def lend(self) -> list[npt.NDArray[Any]]:
        """Return the arrays; they cannot be made writable."""
        return [view.view() for view in self.views]

    def _counts(self) -> list[int]:
        """Return how many objects refer to each of the roots."""
        return list(map(getrefcount, self._roots))


class Lender:
    """What a batch lends of its observations.

    Args:
        arrays: those of the batch so far, with one set of buffers; from now on it is to use ``arrays`` of
            this object.
        layout: of the observations.
        views: what users see of them, which are to be of the set that the observations are in.

    """

    def __init__(self, arrays: BatchArrays, layout: ObsLayout, views: Views) -> None:
        self._layout, self._shown = layout, views
        self._num_games = len(arrays.buffers.shown)
        self._buffers = _in_sets(arrays.buffers, layout)
        self._are_last = arrays.final_buffers is arrays.buffers
        last = self._buffers if self._are_last else arrays.final_buffers
        self.arrays = arrays._replace(buffers=self._buffers, final_buffers=last)
        sets = [_contents(self._buffers, number) for number in range(NUM_SETS)]
        self._views = [observations_of(contents, layout) for contents in sets]
        self._lent = [LentArrays(_lendable(contents)) for contents in sets]
        for lent in self._lent:
            lent.views[0] = boards_as_planes(lent.views[0], layout)
        self._all_in = [np.full(self._num_games, number, np.int64).tobytes() for number in range(NUM_SETS)]
        self._by_use = [number for number in range(NUM_SETS) if number != OWN]
        self._turn_to(OWN)

    def lend(self) -> Observations:
        """Return the observations of all games: those that are lent in read-only arrays that never change."""
        self._gather()
        target = self._target
        planes, players, borders, numbers = self._copies() if target == OWN else self._lent[target].lend()
        return self._views[target]._replace(planes=planes, players=players, borders=borders, globals=numbers)

    def make_way(self, *, keeps_others: bool) -> None:
        """Let the next observations be written where no array is held.

        ``keeps_others``: not all games will be observed, so those of the others come along.
        """
        free = (number for number in reversed(self._by_use) if not self._lent[number].are_held)
        target = next(free, OWN)  # the latest one that is not held: it is the least behind
        if target == self._target:
            return
        if target != OWN:
            self._by_use.remove(target)
            self._by_use.append(target)
        self._turn_to(target)
        if keeps_others:
            self._gather()

    def _copies(self) -> list[npt.NDArray[Any]]:
        """Return copies of the set that is never lent, as read-only as what is."""
        boards, *tables = (frozen(array.copy()) for array in _lendable(_contents(self._buffers, OWN)))
        return [boards_as_planes(boards, self._layout), *tables]

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
    array.flags.writeable = False
    return array


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


def _lendable(contents: Buffers) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays of one set that are lent."""
    return contents.boards, contents.players, contents.borders, contents.globals


def _read_only(array: npt.NDArray[Any]) -> memoryview:
    return frozen(array.reshape(-1).view(np.uint8)).data
