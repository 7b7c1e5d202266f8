"""Plots as PNG files, which replace no file that is none."""

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from territorial.files.atomic import draft_of, own_file, own_folder
from territorial.files.bounded import open_file
from territorial.typing import Floats

_DPI = 110
_MADE_BY, _HEAD = "territorial-env", 2**10
"""What the first so many bytes of a plot say."""


def save_plots(plt: Any, drawn: Mapping[str, Callable[[], Any]], folder: Path) -> list[Path]:
    """Write each plot, which its function draws, to a file of its name in ``folder``, made if needed.

    FileExistsError for a file there that is no plot that was drawn here.
    """
    check_plots(own_folder(folder), drawn)
    files = []
    for name, draw in drawn.items():
        figure, path = draw(), folder / f"{name}.png"
        with draft_of(path) as draft:
            figure.savefig(draft, dpi=_DPI, format="png", metadata={"Software": _MADE_BY})
        plt.close(figure)
        files.append(path)
    return files


def check_plots(folder: Path, names: Iterable[str]) -> None:
    """Raise the error of :func:`save_plots` for files in the way, before there is anything to draw."""
    for path in (own_file(folder / f"{name}.png") for name in names):
        if path.exists():
            with open_file(path) as file:
                if _MADE_BY.encode() not in file.read(_HEAD):
                    why = "it is no plot of this library, and would be replaced; move it away"
                    raise FileExistsError(errno.EEXIST, why, str(path))


def check_matplotlib() -> Any:
    """Return matplotlib's pyplot, which draws into files alone; ImportError without the extra "league"."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            "plots need matplotlib: pip install 'territorial-env[league]' (or '.[league]' in the checkout)"
        ) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw_shares(
    plt: Any, share: Floats, names: Sequence[str], title: str, *, weight: Floats | None = None
) -> Any:
    """Return a figure of the shares (N, N); cells of players that never met are NaN and hatched.

    ``weight``: (N, N), how firm each share is; what is below 1 is faded.
    """
    side = 3 + 0.36 * len(names)
    figure, axes = plt.subplots(figsize=(side + 1, side), layout="compressed")
    firm = np.ones(share.shape) if weight is None else weight
    axes.patch.set(hatch="//////", facecolor="0.97", edgecolor="0.8")  # shows where a cell has no colour
    axes.imshow(np.where(np.isnan(share), np.nan, 1.0), cmap="gray", vmin=0, vmax=1)  # white under what fades
    axes.imshow(100 * share, cmap="RdBu", vmin=0, vmax=100, alpha=firm)
    axes.set_title(title)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    for row, column in np.argwhere(~np.isnan(share)):
        value, alpha = 100 * share[row, column], firm[row, column]
        color = "white" if abs(value - 50) > 35 and alpha > 0.6 else "black"
        axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=7, color=color)
    colors = plt.cm.ScalarMappable(plt.Normalize(0, 100), "RdBu")
    figure.colorbar(colors, ax=axes, shrink=0.8)
    return figure


def named(figure: Any, axes: Any, title: str, below: str, beside: str = "") -> Any:
    """Return a plot of curves with its title, names and whole numbers at its axes, and a legend."""
    axes.set_title(title)
    axes.set_xlabel(below)
    axes.set_ylabel(beside)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    return figure
