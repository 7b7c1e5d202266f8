"""What is seen of the games of a runner, kept once for all who look and as it changes, to be shipped so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rllib_adapters.envs.spaces import SHARED
from territorial.actions.masks import pair_masks
from territorial.decode.store import FrameStore
from territorial.decode.table_store import TableStore
from territorial.observation.layout import NEW_GAME, ObsLayout
from territorial.typing import Ints

TABLES = tuple(name for name in SHARED if name != "observations")
KEY_EVERY = 256
"""Steps from one key frame to the next: a sample has one, and looking back is still quick."""

Frames = dict[str, npt.NDArray[Any]]


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
        self._boards = FrameStore(layout, num_games, key_every=KEY_EVERY)
        self._tables = TableStore(num_games, sum(self._sizes))
        self._masks: list[npt.NDArray[np.uint8]] = []
        self._joined_masks: npt.NDArray[np.uint8] | None = None  # once they are read
        self._known: dict[tuple[int, int], Frames] = {}
        self._is_changed = np.zeros(num_games, np.bool_)
        self._num_odd = np.zeros(num_games, np.int64)
        """Moments still to come whose stacks begin before a change."""
        self._odd_stacks: dict[tuple[int, int], npt.NDArray[np.uint8]] = {}
        """Those stacks, by game and moment: no board of the store is the one after the change."""

    @property
    def first(self) -> int:
        """The oldest moment."""
        return self._tables.first

    @property
    def end(self) -> int:
        """The number that the next moment gets."""
        return self._tables.end

    def __len__(self) -> int:
        """Return how many moments are there, each of all games."""
        return len(self._tables)

    def append(self, observations: Any) -> None:
        """Remember the next moment; ``observations``: of ``VecGame``."""
        self._num_odd[observations.delta_count == NEW_GAME] = 0
        if self._is_changed.any():
            counts = np.where(self._is_changed, NEW_GAME, observations.delta_count)
            observations = observations._replace(delta_count=counts.astype(np.int32))
            self._num_odd[self._is_changed] = self.layout.frames - 1
            self._is_changed[:] = False
        for k in np.flatnonzero(self._num_odd).tolist():
            self._odd_stacks[k, self.end] = observations.planes[k].copy()
            self._num_odd[k] -= 1
        self._boards.append(observations)
        tables = [getattr(observations, name).reshape(self.num_games, -1) for name in TABLES]
        self._tables.append(np.concatenate(tables, axis=1))
        self._masks.append(observations.masks.copy())

    def resume(self, observations: Any) -> None:
        """Resume from what is observed now, which may have changed since the last moment.

        ``VecGame.set_position`` and ``restore`` do that. What was seen at the last moment remains; the next
        board of such a game is taken as that of a new one.
        """
        begun = np.flatnonzero(observations.delta_count == NEW_GAME)
        if len(begun):
            seen = self._boards.planes(begun, np.full(len(begun), self.end - 1), 1)
            self._is_changed[begun] = (seen[:, 0] != observations.planes[begun, 0]).any((1, 2, 3))

    def now(self, observations: Any) -> tuple[Frames, npt.NDArray[np.uint8]]:
        """Return what is to be acted on now: the arrays ``SHARED``, (E, ...) each, and the masks.

        They are views of ``observations``, unless a game was changed since, see ``resume``.
        """
        if self._is_changed.any():
            games = np.arange(self.num_games)
            return self.frames(games, np.full(self.num_games, self.end - 1)), self._masks[-1]
        tables = {name: getattr(observations, name) for name in TABLES}
        return {"observations": observations.planes, **tables}, observations.masks

    def since(self, moment: int) -> ObservationLog:
        """Return a record of its own that has the moments from ``moment`` on and can be added to."""
        record = ObservationLog(self.layout, self.num_games)
        oldest = max(self._boards.first, moment - self.layout.frames + 1)
        record._boards, record._tables = self._boards.since(oldest), self._tables.since(moment)
        record._masks = self._masks[moment - self.first :]
        record._num_odd = self._num_odd.copy()
        record._odd_stacks = {at: stack for at, stack in self._odd_stacks.items() if at[1] >= moment}
        return record

    def frames(self, games: Ints, moments: Ints) -> Frames:
        """Return the arrays ``SHARED`` of games (n,) at moments (n,), (n, ...) each."""
        rows = self._tables.rows(games, moments)
        parts = np.split(rows, np.cumsum(self._sizes)[:-1], axis=1)
        tables = {
            name: np.ascontiguousarray(part).reshape(len(rows), *shape)
            for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }
        return {"observations": self._stacks(games, moments), **tables}

    def _stacks(self, games: Ints, moments: Ints) -> npt.NDArray[np.uint8]:
        stacks: npt.NDArray[np.uint8] = self._boards.planes(games, moments)
        if self._odd_stacks:
            for i, at in enumerate(zip(games.tolist(), moments.tolist(), strict=True)):
                if at in self._odd_stacks:
                    stacks[i] = self._odd_stacks[at]
        return stacks

    def legal(self, games: Ints, moments: Ints, seats: Ints) -> npt.NDArray[np.int8]:
        """Return int8 (n, P + 12): what ``seats`` (n,), 1..P, might do in games (n,) at moments (n,)."""
        if self._joined_masks is None or len(self._joined_masks) != len(self._masks) * self.num_games:
            self._joined_masks = np.concatenate(self._masks)
        bits = self._joined_masks
        places = (moments - self.first) * self.num_games + games
        return pair_masks(bits, places, seats)

    def observations(self, game: int, moments: Ints, seat: int) -> list[Frames]:
        """Return what a seat, 1..P, sees of a game at moments (n,), one dict each.

        What all seats see at a moment is decoded once, and one object for all of them.
        """
        games, own = np.full(len(moments), game), np.array([seat], np.int32)
        shared = self._decoded(game, moments)
        legal = self.legal(games, moments, np.full(len(moments), seat))
        return [{**seen, "seat": own, "action_mask": mask} for seen, mask in zip(shared, legal, strict=True)]

    def _decoded(self, game: int, moments: Ints) -> list[Frames]:
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
