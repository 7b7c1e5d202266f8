"""The frames of a learner's batch: told apart, numbered, and decoded for the rows that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rllib_adapters.envs.spaces import SHARED
from rllib_adapters.observations.lazy_buffer import SharedObservations
from rllib_adapters.observations.log import ObservationLog
from territorial.typing import Arrays

FRAME = "frame"
"""The key of an observation that says which of the frames is its own, instead of ``SHARED``."""


class FrameBank:
    """All distinct frames of a batch.

    Those that lie in records stay there, as key frames and deltas, and are made when they are taken. What a
    bank needs is the bytes of what changed, however many agents see a frame. Others are kept as they are,
    told apart by the identity of their arrays.
    """

    def __init__(self) -> None:
        self._records: list[ObservationLog] = []
        self._begins: dict[int, int] = {}
        self._num_recorded = 0
        self._numbers: dict[int, npt.NDArray[np.int64]] = {}
        self._others: list[Mapping[str, npt.NDArray[Any]]] = []

    def add_record(self, record: ObservationLog) -> None:
        """Number the frames of a record through; all records must be added before there are others."""
        if id(record) not in self._begins:
            self._begins[id(record)] = self._num_recorded
            self._records.append(record)  # which keeps it alive, so that no other gets its identity
            self._num_recorded += len(record) * record.num_games

    def recorded_rows(self, seen: SharedObservations, count: int) -> Arrays:
        """Return the first ``count`` observations of an episode, as columns."""
        record, moments = seen.record, seen.moments[seen.lookback :][:count]
        games, seats = np.full(count, seen.game), np.full(count, seen.seat)
        numbers = self._begins[id(record)] + (moments - record.first) * record.num_games + games
        return {
            FRAME: numbers[:, None],
            "seat": seats[:, None].astype(np.int32),
            "action_mask": record.legal(games, moments, seats),
        }

    def row_of(self, seen: Mapping[str, npt.NDArray[Any]]) -> Arrays:
        """Return what is an agent's own of its observation, and the number of its frame."""
        number = self._numbers.get(id(seen["observations"]))
        if number is None:
            number = np.array([self._num_recorded + len(self._others)])
            self._numbers[id(seen["observations"])] = number
            self._others.append(seen)  # which keeps the array alive, too
        return {FRAME: number, **{name: part for name, part in seen.items() if name not in SHARED}}

    def stacked(self) -> Arrays:
        """Return the arrays of all frames that lie in no record, (E, ...) each."""
        return {name: np.stack([seen[name] for seen in self._others]) for name in SHARED if self._others}

    def take(self, numbers: npt.NDArray[np.int64]) -> Arrays:
        """Return the arrays of the frames with these numbers, rising, (n, ...) each."""
        parts = []
        for record in self._records:
            begin = self._begins[id(record)]
            end = begin + len(record) * record.num_games
            own = numbers[(numbers >= begin) & (numbers < end)] - begin
            if len(own):
                moments, games = np.divmod(own, record.num_games)
                parts.append(record.frames(games, moments + record.first))
        others = [self._others[i] for i in (numbers - self._num_recorded).tolist() if i >= 0]
        if others:
            parts.append({name: np.stack([seen[name] for seen in others]) for name in SHARED})
        return {name: np.concatenate([part[name] for part in parts]) for name in SHARED}
