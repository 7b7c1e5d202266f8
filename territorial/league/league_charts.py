"""Plots of a league, as PNG files: ratings over time, and who is placed above whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from territorial.bots import short
from territorial.files.atomic import draft_of
from territorial.league.charts import check_matplotlib
from territorial.league.league import League

NAMES = ("ratings", "above", "payoff")
"""The plots there are; each is written to a file of its name, .png."""
MOST_ROWS = 40
"""Players in the payoff plot: learners, bots, and as many snapshots as there is room for."""
_DPI = 110


def draw_league(league: League, folder: Path) -> list[Path]:
    """Write all plots into ``folder``, which is made, and return their files.

    ImportError without the extra "league". Plots over time are left out where nothing has been noted.
    """
    plt = check_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {"payoff": lambda: _payoff(plt, league)}
    if league.history:
        drawn["ratings"] = lambda: _ratings(plt, league)
    if any(row.get("above") for row in league.history):
        drawn["above"] = lambda: _above(plt, league)
    files = []
    for name in NAMES:
        if name in drawn:
            figure, path = drawn[name](), folder / f"{name}.png"
            with draft_of(path) as draft:
                figure.savefig(draft, dpi=_DPI, format="png")
            plt.close(figure)
            files.append(path)
    return files


def label(player: str) -> str:
    """Return what a player is called in plots and tables."""
    kind, _, name = player.partition(":")
    return short(name) if kind == "bot" else f"{name} (learns)" if kind == "trainable" else name


def order_of(league: League) -> list[str]:
    """Return all players by rating, the best first."""
    return sorted(league.payoff.names, key=lambda name: -league.rating(name).mu)


def _ratings(plt: Any, league: League) -> Any:
    figure, axes = plt.subplots(figsize=(10, 5.5), layout="constrained")
    steps = [row["step"] for row in league.history]
    styles = [(color, style) for style in ("-", "--", ":") for color in plt.colormaps["tab10"].colors]
    names = list(dict.fromkeys(name for row in league.history for name in row["ratings"]))
    for name, (color, style) in zip(names, styles * (1 + len(names) // len(styles)), strict=False):
        values = np.array([row["ratings"].get(name, (np.nan, np.nan)) for row in league.history], float)
        is_learner = name.startswith("trainable:")
        axes.plot(
            steps,
            values[:, 0],
            color=color,
            linestyle=style,
            linewidth=2 if is_learner else 1,
            label=label(name),
        )
        if is_learner:
            low, high = values[:, 0] - values[:, 1], values[:, 0] + values[:, 1]
            axes.fill_between(steps, low, high, color=color, alpha=0.15, linewidth=0)
    _mark_snapshots(axes, league)
    axes.set_title("ratings (Plackett-Luce); learners with one sigma, their snapshots as dots")
    axes.set_xlabel("iteration")
    axes.set_ylabel("rating")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    return figure


def _mark_snapshots(axes: Any, league: League) -> None:
    """Draw a dot for every snapshot where it was frozen, as high as it is rated now."""
    ones = list(league.snapshots.values())
    mus = [league.rating(f"snapshot:{one.name}").mu for one in ones]
    axes.plot([one.step for one in ones], mus, "o", color="0.35", markersize=3.5)


def _above(plt: Any, league: League) -> Any:
    figure, axes = plt.subplots(figsize=(10, 5), layout="constrained")
    steps = [row["step"] for row in league.history]
    names = list(dict.fromkeys(name for row in league.history for name in row.get("above", {})))
    for name in names:
        values = [100 * row.get("above", {}).get(name, np.nan) for row in league.history]
        axes.plot(steps, values, linewidth=1.4, label=label(name))
    axes.axhline(50, color="0.5", linewidth=0.8)
    axes.set_ylim(0, 100)
    axes.set_title("how often the main agent is placed above a bot in the same game, per cent")
    axes.set_xlabel("iteration")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    return figure


def _payoff(plt: Any, league: League) -> Any:
    names = _rows(league)
    share, games = league.payoff.matrix(names)
    side = 3 + 0.34 * len(names)
    figure, axes = plt.subplots(figsize=(side + 1, side), layout="constrained")
    shown = axes.imshow(100 * share, cmap="RdBu", vmin=0, vmax=100)
    axes.set_title("how often the row is placed above the column in the same game, per cent")
    labels = [label(name) for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=90)
    axes.set_yticks(range(len(names)), labels)
    for row, column in np.argwhere(games > 0):
        value = 100 * share[row, column]
        color = "white" if abs(value - 50) > 35 else "black"
        axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=6, color=color)
    figure.colorbar(shown, shrink=0.8)
    return figure


def _rows(league: League) -> Sequence[str]:
    """Return those in the plot, by rating: all but the snapshots between, where there are too many."""
    names = order_of(league)
    snapshots = [name for name in names if name.startswith("snapshot:")]
    room = max(2, MOST_ROWS - (len(names) - len(snapshots)))
    if len(snapshots) > room:
        picked = np.unique(np.linspace(0, len(snapshots) - 1, room).astype(int))
        kept = {snapshots[i] for i in picked}
        names = [name for name in names if not name.startswith("snapshot:") or name in kept]
    return names
