"""``RecordArrays``: what records of games say of land, survival and length."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.evaluation.record import GameRecord
from territorial.evaluation.statistics import PlaceArrays, spread
from territorial.typing import Floats


class RecordArrays(PlaceArrays):
    """Records as arrays: G games, P seats, N players in the order of their names."""

    def __init__(self, records: Sequence[GameRecord]) -> None:
        super().__init__(records)
        self.records = tuple(records)
        self.lengths = np.array([record.length for record in records])
        """(G,) ticks."""
        self.ticks = np.array(max(records, key=lambda record: record.length).ticks)
        """When land was looked at, in the longest game; in all others too, as long as they went on."""

    def survival(self, ticks: npt.NDArray[np.int64]) -> Floats:
        """Return (N, len(ticks)), the share of a player's seats that live after so many ticks."""
        died = np.array([record.died for record in self.records])
        last = np.where(died < 0, np.iinfo(np.int64).max, died)
        return np.stack([self._mean_by_player(last > tick) for tick in ticks], axis=1)

    def land(self, ticks: npt.NDArray[np.int64]) -> Floats:
        """Return (N, len(ticks)), the mean share of the land of a player's seats when last looked at before.

        Games that are over stand.
        """
        whole = np.array([record.num_land for record in self.records])[:, None]
        columns = []
        for tick in ticks:
            looks = [record.land[bisect_right(record.ticks, tick) - 1] for record in self.records]
            columns.append(self._mean_by_player(np.array(looks) / whole))
        return np.stack(columns, axis=1)

    def shape(self) -> dict[str, Any]:
        """Return the shape of the games: end of free land, survivors over time, lengths, stalls.

        Who lives at a tick is counted in the games that go on then, and only if half of all do: the few that
        last longer than others say nothing of the rest.
        """
        filled, alive = np.array([record.filled for record in self.records]), {}
        for tick in (1000, 2000, 4000):
            died = np.array([record.died for record in self.records if record.length > tick])
            if 2 * len(died) >= len(self.records):
                alive[str(tick)] = spread(((died < 0) | (died > tick)).sum(axis=1))
        return {
            "games": len(self.records),
            "neutral_gone": spread(filled[filled >= 0]) if (filled >= 0).any() else None,
            "alive": alive,
            "length": spread(self.lengths),
            "stopped_by_time": float(np.mean([record.is_stopped for record in self.records])),
        }

    def _mean_by_player(self, values: npt.NDArray[Any]) -> Floats:
        means: Floats = self.by_player(values).sum(axis=0) / self.by_player().sum(axis=0)
        return means
