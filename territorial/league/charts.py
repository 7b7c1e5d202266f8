"""Plots of a league as PNG files: ratings over time, payoffs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from territorial.evaluation.plots import check_matplotlib, draw_shares, named, save_plots
from territorial.league.league import League
from territorial.typing import Floats

MOST_ROWS = 40
"""Players in the payoff plot: learners, bots, and as many snapshots as there is room for."""
ENOUGH_GAMES = 30
"""Games from which a share is drawn in full; with fewer it is faded."""
SURE = 5.0
"""Sigma up to which a rating is drawn in full; it is 8.3 at first, and 3 at last."""
FAINT = 0.3
"""How much of its colour remains of what rests on few games."""


def draw_league(league: League, folder: Path) -> list[Path]:
    """Write the plots for which there are data into ``folder``, which is made, and return their files.

    ImportError without the extra "league".
    """
    plt, rows, met = check_matplotlib(), league.history, _rows(league)
    drawn = {
        "ratings": any(row["ratings"] for row in rows) and (lambda: _ratings(plt, league)),
        "above": any(row.get("above") for row in rows) and (lambda: _above(plt, league)),
        "payoff": bool(met) and (lambda: _payoff(plt, league, met)),
    }
    there = {name: draw for name, draw in drawn.items() if draw}
    return save_plots(plt, there, folder) if there else []


def order_of(league: League) -> list[str]:
    """Return all players by rating, the best first."""
    return sorted(league.payoff.names, key=lambda name: -league.rating(name).mu)


def _ratings(plt: Any, league: League) -> Any:
    figure, axes = plt.subplots(figsize=(10, 5.5), layout="constrained")
    steps, rows = zip(*((row["step"], row["ratings"]) for row in league.history), strict=True)
    styles = [(color, style) for style in ("-", "--", ":") for color in plt.colormaps["tab10"].colors]
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name, (color, style) in zip(names, styles * (1 + len(names) // len(styles)), strict=False):
        mus, sigmas = np.array([row.get(name, (np.nan, np.nan)) for row in rows]).T
        is_learner = name.startswith("trainable:")
        look = {"color": color, "linestyle": style, "linewidth": 2 if is_learner else 1}
        _curve(axes, steps, mus, sigmas <= SURE, label=league.label(name), **look)
        if is_learner:
            axes.fill_between(steps, mus - sigmas, mus + sigmas, color=color, alpha=0.15, linewidth=0)
    # A dot for every snapshot that has played, where it was frozen, as high as it is rated now.
    for name, one in league.snapshots.items():
        if league.payoff.opponents(f"snapshot:{name}"):
            mu, sigma = league.rating(f"snapshot:{name}")
            axes.plot(one.step, mu, "o", color="0.35", markersize=3.5, alpha=1 if sigma <= SURE else FAINT)
    title = "ratings (Plackett-Luce); learners with one sigma, their snapshots as grey dots"
    return named(figure, axes, title, "iteration", f"rating; faint: sigma over {SURE:.0f}")


def _curve(axes: Any, steps: Sequence[int], values: Floats, firm: Any, **look: Any) -> None:
    """Draw a curve, faint where it is not ``firm``, with dots where it has few points."""
    look["marker"] = "o" if np.isfinite(values).sum() < 30 else ""
    text = look.pop("label")
    axes.plot(steps, values, alpha=FAINT, markersize=3, **look)
    axes.plot(steps, np.where(firm, values, np.nan), markersize=3, label=text, **look)


def _above(plt: Any, league: League) -> Any:
    figure, axes = plt.subplots(figsize=(10, 5), layout="constrained")
    rows = league.history
    steps = [row["step"] for row in rows]
    names = dict.fromkeys(name for row in rows for name in row.get("above", {}))
    for i, name in enumerate(names):
        values = 100 * np.array([row.get("above", {}).get(name) for row in rows], float)  # None is NaN
        games = np.array([row.get("met", {}).get(name, ENOUGH_GAMES) for row in rows])
        _curve(
            axes,
            steps,
            values,
            games >= ENOUGH_GAMES,
            color=f"C{i % 10}",
            linewidth=1.4,
            label=league.label(name),
        )
    axes.axhline(50, color="0.5", linewidth=0.8)
    axes.set_ylim(-2, 102)
    title = "how often the main agent is placed above a bot in the same game"
    return named(figure, axes, title, "iteration", f"per cent; faint: fewer than {ENOUGH_GAMES} games")


def _payoff(plt: Any, league: League, names: Sequence[str]) -> Any:
    share, games = league.payoff.matrix(names)
    title = (
        "how often the row is placed above the column in the same game, per cent\n"
        f"faint: fewer than {ENOUGH_GAMES} games; hatched: never met"
    )
    weight = np.where(games < ENOUGH_GAMES, FAINT + (1 - FAINT) * games / ENOUGH_GAMES, 1.0)
    return draw_shares(plt, share, [league.label(name) for name in names], title, weight=weight)


def _rows(league: League) -> list[str]:
    """Return the players of the plot, by rating: the ones with games, and not too many snapshots."""
    names = [name for name in order_of(league) if league.payoff.opponents(name)]
    snapshots = [name for name in names if name.startswith("snapshot:")]
    room = max(2, MOST_ROWS - (len(names) - len(snapshots)))
    if len(snapshots) > room:
        picked = np.unique(np.linspace(0, len(snapshots) - 1, room).astype(int))
        kept = {snapshots[i] for i in picked}
        names = [name for name in names if not name.startswith("snapshot:") or name in kept]
    return names
