"""Log of a runner's observations, and the episode buffers that read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.utils.spaces.space_utils import get_base_struct_from_space

from rllib_adapters.envs.agent_interface import SHARED
from territorial.decode.store import FrameStore
from territorial.decode.table_store import TableStore
from territorial.observation.action_masks import pair_masks
from territorial.observation.layout import ObsLayout
from territorial.typing import Arrays, Bools, Ints

TABLES = tuple(name for name in SHARED if name != "observations")


class ObservationLog:
    """The observations of E games with P seats: boards and tables as key frames and deltas.

    The moments are numbered 0, 1, 2 ... from the beginning of the first record on, in those made by
    ``since``, too. There are those from ``first`` up to, but without, ``end``. Observations of single seats
    come back to the bit, as ``TerritorialMultiAgentEnv`` gives them.

    Args:
        layout: of the observations.
        num_games: E.

    """

    def __init__(self, layout: ObsLayout, num_games: int) -> None:
        self.layout, self.num_games = layout, num_games
        self._shapes = {name: layout.shape(name) for name in TABLES}
        self._sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        # A sample has one key frame, and looking back is still quick.
        self._boards = FrameStore(layout, num_games, key_every=256)
        self._tables = TableStore(num_games, sum(self._sizes))
        self._masks: list[npt.NDArray[np.uint8]] = []
        self._joined_masks: npt.NDArray[np.uint8] | None = None  # once they are read
        self._known: dict[tuple[int, int], Arrays] = {}

    @property
    def first(self) -> int:
        """The oldest moment."""
        return self._tables.first

    def __len__(self) -> int:
        """Return how many moments are there, each of all games."""
        return len(self._tables)

    def append(self, observations: Any) -> None:
        """Remember the next moment; ``observations``: of ``VecGame``."""
        self._boards.append(observations)
        tables = [getattr(observations, name).reshape(self.num_games, -1) for name in TABLES]
        self._tables.append(np.concatenate(tables, axis=1))
        self._masks.append(observations.masks.copy())

    def since(self, moment: int) -> ObservationLog:
        """Return a record of its own that has the moments from ``moment`` on and can be added to."""
        record = ObservationLog(self.layout, self.num_games)
        oldest = max(self._boards.first, moment - self.layout.frames + 1)
        record._boards, record._tables = self._boards.since(oldest), self._tables.since(moment)
        record._masks = self._masks[moment - self.first :]
        return record

    def frames(self, games: Ints, moments: Ints) -> Arrays:
        """Return the arrays ``SHARED`` of games (n,) at moments (n,), (n, ...) each."""
        rows = self._tables.rows(games, moments)
        parts = np.split(rows, np.cumsum(self._sizes)[:-1], axis=1)
        tables = {
            name: np.ascontiguousarray(part).reshape(len(rows), *shape)
            for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }
        return {"observations": self._boards.planes(games, moments), **tables}

    def legal(self, games: Ints, moments: Ints, seats: Ints) -> npt.NDArray[np.int8]:
        """Return int8 (n, P + 12): masks of ``seats`` (n,), 1..P, in games (n,) at moments (n,)."""
        if self._joined_masks is None or len(self._joined_masks) != len(self._masks) * self.num_games:
            self._joined_masks = np.concatenate(self._masks)
        places = (moments - self.first) * self.num_games + games
        return pair_masks(self._joined_masks, places, seats)

    def observations(self, game: int, moments: Ints, seat: int) -> list[Arrays]:
        """Return the observations of a seat, 1..P, of a game at moments (n,), one dict each.

        What all seats see at a moment is decoded once, and one object for all of them.
        """
        games, own = np.full(len(moments), game), np.array([seat], np.int32)
        shared = self._decoded(game, moments)
        legal = self.legal(games, moments, np.full(len(moments), seat))
        return [{**seen, "seat": own, "action_mask": mask} for seen, mask in zip(shared, legal, strict=True)]

    def _decoded(self, game: int, moments: Ints) -> list[Arrays]:
        new = np.array([t for t in np.unique(moments).tolist() if (game, t) not in self._known], np.int64)
        if len(new):
            frames = self.frames(np.full(len(new), game), new)
            for i, t in enumerate(new.tolist()):
                self._known[game, t] = {name: array[i] for name, array in frames.items()}
        return [self._known[game, t] for t in moments.tolist()]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_masks": np.array(self._masks), "_joined_masks": None, "_known": {}}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._masks = list(self._masks)


# ---- where every agent has numbers of its own ------------------------------------------------------------


class _Moment(NamedTuple):
    """The N seats that have rows at one moment.

    Args:
        rows: (N, ...) each; none at all where no seat has any.
        numbers: (E, P): the row of each seat, -1 for those without.

    """

    rows: Arrays
    numbers: Ints


class RowLog:
    """Rows of seats in E games with P seats. Moments are numbered as in ``ObservationLog``."""

    def __init__(self) -> None:
        self._moments: list[_Moment] = []
        self._first = 0
        self._joined: tuple[Arrays, Ints] | None = None

    def append(self, seats: Bools, rows: Arrays) -> None:
        """Store the next moment: rows (N, ...) of ``seats``, bool (E, P), in the order of games."""
        numbers = np.full(seats.shape, -1)
        numbers[seats] = np.arange(seats.sum())
        self._moments.append(_Moment(rows, numbers))
        self._joined = None

    def now(self, seats: Bools) -> Arrays:
        """Return the newest rows of ``seats``, bool (E, P), as (N, ...)."""
        rows, numbers = self._moments[-1]
        own = numbers[seats]
        return {name: array[own] for name, array in rows.items()}

    def forget(self, moment: int) -> None:
        """Keep the moments from ``moment`` on alone."""
        del self._moments[: moment - self._first]
        self._first, self._joined = moment, None

    def rows(self, game: int, seat: int, moments: Ints) -> Arrays:
        """Return the rows of a seat, 1..P, of a game at successive ``moments``, (n, ...) each.

        They are those that all moments have. Where rows have different shapes, it is an array of arrays.
        """
        rows, places = self._all()
        begin = places[game, seat - 1, moments[0] - self._first]
        return {name: array[begin : begin + len(moments)] for name, array in rows.items()}

    def _all(self) -> tuple[Arrays, Ints]:
        """Return the rows of all moments, seat by seat, and the place of each, (E, P, T)."""
        if self._joined is None:
            has_one = np.stack([one.numbers for one in self._moments], axis=-1) >= 0
            places = has_one.cumsum().reshape(has_one.shape) - 1
            own = [places[..., t][has_one[..., t]] for t in range(len(self._moments))]
            parts = [(one.rows, to) for one, to in zip(self._moments, own, strict=True) if one.rows]
            rows = {}
            for name in (name for name in parts[-1][0] if all(name in part for part, _ in parts)):
                shape, *others = {part[name].shape[1:] for part, _ in parts}
                if others:  # such as of greedy steps and others
                    rows[name] = np.empty(int(has_one.sum()), object)
                    for part, to in parts:
                        for at, row in zip(to, part[name], strict=True):
                            rows[name][at] = row
                else:
                    kind = np.result_type(*(part[name] for part, _ in parts))
                    rows[name] = np.empty((int(has_one.sum()), *shape), kind)
                    for part, to in parts:
                        rows[name][to] = part[name]
            self._joined = rows, places
        return self._joined


# ---- buffers of episodes ---------------------------------------------------------------------------------


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
        """Return the number of entries, with the entries of the piece before."""
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
        moments: int64 (n,) or a range, when.
        lookback: how many of them are of the piece before.
        space: of an item, if that is known.

    """

    def __init__(
        self,
        record: ObservationLog,
        game: int,
        seat: int,
        moments: Ints | range,
        lookback: int,
        space: Any = None,
    ) -> None:
        self.record, self.game, self.seat, self.moments = record, game, seat, np.asarray(moments)
        self._made: list[Any] | None = None
        self._last: Any = None
        self.lookback, self.finalized, self.space = lookback, False, space

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
        """Return the number of observations, with the ones of the piece before."""
        return len(self.moments) if self._made is None else super().len_incl_lookback()

    def __len__(self) -> int:
        """Return how many there are of this piece."""
        return self.len_incl_lookback() - self.lookback if self._made is None else super().__len__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._made is not None:
            return ArrayBuffer, (self._made, self.lookback, self.space)
        first, count = int(self.moments[0]), len(self.moments)
        is_range = self.moments[-1] - first == count - 1
        moments = range(first, first + count) if is_range else self.moments
        return SharedObservations, (self.record, self.game, self.seat, moments, self.lookback, self.space)
