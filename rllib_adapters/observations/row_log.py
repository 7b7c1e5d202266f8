"""What agents saw of the games of a runner where every agent has numbers of its own, kept row by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer

from rllib_adapters.observations.lazy_buffer import buffer_of
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
        return {name: array[numbers[seats]] for name, array in rows.items()}

    def forget(self, moment: int) -> None:
        """Keep the moments from ``moment`` on alone."""
        del self._moments[: moment - self._first]
        self._first, self._joined = moment, None

    def buffer(self, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return what a seat, 1..P, saw of a game at ``moments``, as RLlib's buffer of arrays."""
        rows, numbers = self._all()
        own = numbers[moments - self._first, game, seat - 1]
        return buffer_of({name: array[own] for name, array in rows.items()}, lookback)

    def _all(self) -> tuple[Arrays, Ints]:
        """Return the rows of all moments end to end, and the row of each seat at each, (T, E, P)."""
        if self._joined is None:
            ends = np.cumsum([0, *(len(one.rows["action_mask"]) for one in self._moments)])
            numbers = np.stack([one.numbers for one in self._moments]) + ends[:-1, None, None]
            names = self._moments[0].rows
            rows = {name: np.concatenate([one.rows[name] for one in self._moments]) for name in names}
            self._joined = rows, numbers
        return self._joined
