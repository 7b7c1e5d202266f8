"""What records of games say of land, survival and length, as arrays and as plots."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from territorial.bots import short
from territorial.evaluation.plots import check_matplotlib, draw_shares, named, save_plots
from territorial.evaluation.record import GameRecord
from territorial.evaluation.standings import PlaceArrays, spread
from territorial.typing import Array, Floats, Ints

PLOTS = ("beats", "survival", "land")
"""The plots of a contest, by the names of their files."""


class RecordArrays(PlaceArrays):
    """Records as arrays: G games, P seats, N players in the order of their names."""

    def __init__(self, records: Sequence[GameRecord]) -> None:
        super().__init__(records)
        self.records = tuple(records)
        self.ticks = np.array(max(records, key=lambda record: record.length).ticks)
        """When land was looked at, in the longest game; in all others too, as long as they went on."""

    def survival(self, ticks: Ints) -> Floats:
        """Return (N, len(ticks)), the share of a player's seats that live after so many ticks."""
        died = np.array([record.died for record in self.records])
        last = np.where(died < 0, np.iinfo(np.int64).max, died)
        return np.stack([self._mean_by_player(last > tick) for tick in ticks], axis=1)

    def land(self, ticks: Ints) -> Floats:
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
            "length": spread(np.array([record.length for record in self.records])),
            "stopped_by_time": float(np.mean([record.is_stopped for record in self.records])),
        }

    def _mean_by_player(self, values: Array) -> Floats:
        means: Floats = self.by_player(values).sum(axis=0) / self.by_player().sum(axis=0)
        return means


def draw_charts(tally: RecordArrays, folder: Path) -> list[Path]:
    """Write all plots into ``folder``, which is made, and return their files.

    ``PLOTS`` names them. ImportError without the extra "league".
    """
    plt, names = check_matplotlib(), [line.player for line in tally.table()]
    index = [tally.players.index(name) for name in names]
    shares, title = tally.beats()[np.ix_(index, index)], "how often a seat of the row comes in before one "
    draws = (
        lambda: draw_shares(plt, shares, list(map(short, names)), f"{title}of the column, per cent"),
        lambda: _curves(plt, tally, names, "seats alive, per cent", tally.survival),
        lambda: _curves(plt, tally, names, "land of a seat, per cent of the map", tally.land),
    )
    return save_plots(plt, dict(zip(PLOTS, draws, strict=True)), folder)


def _curves(
    plt: Any, tally: RecordArrays, order: Sequence[str], title: str, values: Callable[[Any], Floats]
) -> Any:
    """Return curves over ticks, one a player."""
    ticks = tally.ticks
    rows = dict(zip(tally.players, 100 * values(ticks), strict=True))
    figure, axes = plt.subplots(figsize=(10, 6), layout="constrained")
    styles = [(color, style) for style in ("-", "--", ":") for color in plt.colormaps["tab10"].colors]
    for name, (color, style) in zip(order, cycle(styles), strict=False):
        axes.plot(ticks, rows[name], color=color, linestyle=style, linewidth=1.4, label=short(name))
    axes.set_xlim(0, ticks[-1])
    axes.set_ylim(bottom=0)
    return named(figure, axes, title, "tick")
