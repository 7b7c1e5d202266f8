"""What agents saw of the games of a runner where every agent has numbers of its own, kept row by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer

from rllib_adapters.observations.lazy_buffer import ArrayBuffer
from territorial.typing import Arrays, Bools, Ints


class _Observed(NamedTuple):
    """The agents that observe at one moment, N of them."""

    rows: Arrays
    """(N, ...) each."""
    numbers: Ints
    """(E, P): the row of each seat, -1 for those that do not observe."""


class RowLog:
    """The observations of agents in E games with P seats. Moments are numbered as in ``ObservationLog``."""

    def __init__(self) -> None:
        self._moments: list[_Observed] = []
        self._first = 0
        self._joined: tuple[Arrays, Ints] | None = None

    def append(self, seats: Bools, rows: Arrays) -> None:
        """Remember the next moment: what ``seats``, bool (E, P), see, (N, ...) in the order of games."""
        numbers = np.full(seats.shape, -1)
        numbers[seats] = np.arange(seats.sum())
        self._moments.append(_Observed(rows, numbers))
        self._joined = None

    def now(self, seats: Bools) -> Arrays:
        """Return what ``seats``, bool (E, P), saw last, (N, ...) each."""
        rows, numbers = self._moments[-1]
        own = numbers[seats]
        return {name: array[own] for name, array in rows.items()}

    def forget(self, moment: int) -> None:
        """Keep the moments from ``moment`` on alone."""
        del self._moments[: moment - self._first]
        self._first, self._joined = moment, None

    def buffer(self, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return what a seat, 1..P, saw of a game at ``moments``, which follow each other, as arrays."""
        rows, places = self._all()
        begin = places[game, seat - 1, moments[0] - self._first]
        own = slice(begin, begin + len(moments))
        return ArrayBuffer({name: array[own] for name, array in rows.items()}, lookback)

    def _all(self) -> tuple[Arrays, Ints]:
        """Return the rows of all moments, seat by seat, and the place of each, (E, P, T)."""
        if self._joined is None:
            observes = np.stack([one.numbers for one in self._moments], axis=-1) >= 0
            places = observes.cumsum().reshape(observes.shape) - 1
            own = [places[..., t][observes[..., t]] for t in range(len(self._moments))]
            rows = {}
            for name, array in self._moments[0].rows.items():
                rows[name] = np.empty((int(observes.sum()), *array.shape[1:]), array.dtype)
                for one, to in zip(self._moments, own, strict=True):
                    rows[name][to] = one.rows[name]
            self._joined = rows, places
        return self._joined
