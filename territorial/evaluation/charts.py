"""Plots of a contest: wins, survival and land."""

from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from territorial.bots import short
from territorial.evaluation.plots import check_matplotlib, draw_shares, named, save_plots
from territorial.evaluation.record_arrays import RecordArrays
from territorial.typing import Floats

PLOTS = ("beats", "survival", "land")
"""The plots of a contest, by the names of their files."""


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
