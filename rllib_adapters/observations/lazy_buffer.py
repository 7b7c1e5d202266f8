"""The observations of an agent's episode, which lie in a record until one of them is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.utils.spaces.space_utils import get_base_struct_from_space

from rllib_adapters.observations.log import ObservationLog


class ArrayBuffer(InfiniteLookbackBuffer):
    """RLlib's buffer of arrays or of a list, which is made, and counted, at once.

    A sample has thousands of buffers. RLlib's works out the structure of its space when it gets it, and goes
    through its data to find out how long they are.

    Args:
        data: a list, an array, or a dict of arrays, (n, ...) each.
        lookback: how many of them are of the piece before.
        space: of an item, if that is known.

    """

    def __init__(self, data: Any, lookback: int, space: Any = None) -> None:
        self.data, self.lookback, self.space = data, lookback, space
        self.finalized = not isinstance(data, list)

    @property
    def space(self) -> Any:
        """The space of an item."""
        return self._own_space

    @space.setter
    def space(self, space: Any) -> None:
        self._own_space = space  # RLlib works out its structure here, for every agent of every sample

    @property
    def space_struct(self) -> Any:
        """The space as nested dicts of spaces."""
        return get_base_struct_from_space(self._own_space)

    def len_incl_lookback(self) -> int:
        """Return how many there are, with those of the piece before."""
        return len(next(iter(self.data.values())) if isinstance(self.data, dict) else self.data)


class SharedObservations(ArrayBuffer):
    """A buffer of a seat's observations that are made from a ``ObservationLog`` when they are asked for.

    It is RLlib's buffer of the list ``data``, which is made, of all of them, at the first look, but for the
    last observation, which can be had by itself. Until then it is pickled in a few bytes beside its record,
    which all episodes of a sample share.

    Args:
        record: where they are.
        game: its number there.
        seat: 1..P, who sees them.
        moments: int64 (n,), when.
        lookback: how many of them are of the piece before.

    """

    def __init__(
        self, record: ObservationLog, game: int, seat: int, moments: npt.NDArray[np.int64], lookback: int
    ) -> None:
        self.record, self.game, self.seat, self.moments = record, game, seat, moments
        self._made: list[Any] | None = None
        self._last: Any = None
        self.lookback, self.finalized, self.space = lookback, False, None

    @property
    def is_made(self) -> bool:
        """Whether all of them were read, or changed: the record is old then."""
        return self._made is not None

    @property
    def data(self) -> Any:
        """The observations, a list of dicts."""
        if self._made is None:
            self._made = list(self.record.observations(self.game, self.moments, self.seat))
        return self._made

    @data.setter
    def data(self, data: Any) -> None:
        self._made = data

    def get(self, indices: Any = None, **options: Any) -> Any:
        """Return observations, see RLlib's buffer."""
        if indices == -1 and not options and not self.is_made:
            if self._last is None:
                (self._last,) = self.record.observations(self.game, self.moments[-1:], self.seat)
            return self._last
        return super().get(indices, **options)

    def append(self, item: Any) -> None:
        """Add an observation; RLlib adds the last one again where it computes advantages."""
        if self.is_made or item is not self._last:
            super().append(item)
        else:
            self.moments = np.append(self.moments, self.moments[-1])

    def pop(self, index: int = -1) -> None:
        """Take an observation out."""
        if self.is_made:
            super().pop(index)
        else:
            self.moments, self._last = np.delete(self.moments, index), None

    def len_incl_lookback(self) -> int:
        """Return how many there are, with those of the piece before."""
        return len(self.moments) if self._made is None else super().len_incl_lookback()

    def __len__(self) -> int:
        """Return how many there are of this piece."""
        return self.len_incl_lookback() - self.lookback if self._made is None else super().__len__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._made is not None:
            return _filled, (self._made, self.lookback, self.finalized, self.space)
        first, count = int(self.moments[0]), len(self.moments)
        is_range = self.moments[-1] - first == count - 1
        moments = (first, count) if is_range else self.moments
        return _shared, (self.record, self.game, self.seat, moments, self.lookback, self.space)


def _filled(data: Any, lookback: int, finalized: bool, space: Any) -> InfiniteLookbackBuffer:
    buffer = ArrayBuffer(data, lookback, space)
    buffer.finalized = finalized
    return buffer


def _shared(
    record: ObservationLog, game: int, seat: int, moments: Any, lookback: int, space: Any
) -> SharedObservations:
    if isinstance(moments, tuple):
        moments = moments[0] + np.arange(moments[1])
    buffer = SharedObservations(record, game, seat, moments, lookback)
    buffer.space = space
    return buffer
