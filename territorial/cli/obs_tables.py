"""What an observation holds and what its forms cost, as rows of text: for the command line and the docs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from territorial.constants import NUM_CANDIDATES
from territorial.decode.forms import onehot_shape, pooled_shape
from territorial.decode.layout import REVERSE
from territorial.observation.layout import ARRAYS, TABLES, Column, ObsLayout, columns
from territorial.observation.pair_columns import OWN, PAIRS, PairColumn, pair_columns

Rows = list[tuple[str, ...]]

EVERY_COLUMN = {table: columns(table, teams=True) for table in TABLES}
"""The columns of the tables, with those that only games with teams have."""
EVERY_PAIR_COLUMN = {"own": OWN, "pairs": pair_columns(teams=True)}
"""The columns of the form "pairs", with those that only games with teams have."""

CHANGED_PERCENT = 0.54
"""Cells that change hands in a step, of all cells, in per cent: the mean over 16 whole games of mixed-1."""
GAME_STEPS = 705
"""Environment steps of those games, on average."""
POOL = 8
"""Cells along a side of the blocks that the pooled form averages over."""
KEY_EVERY = 64
"""Steps from one whole frame of a game to the next in a FrameStore, unless told otherwise."""


class Form(NamedTuple):
    """One way to keep what game steps show to all agents of the game."""

    name: str
    meaning: str
    step_bytes: Callable[[ObsLayout], float]
    """Bytes of one game step with all its agents, whole frames at fixed distances aside."""
    key_every: int = 0
    """Steps from one such frame to the next; 0: there are none."""

    def mean(self, layout: ObsLayout) -> float:
        """Return the bytes of a game step over many steps."""
        keys = frame_bytes(layout) / self.key_every if self.key_every else 0
        return self.step_bytes(layout) + keys

    def total(self, layout: ObsLayout, games: int, steps: int) -> float:
        """Return the bytes of so many steps of so many games."""
        keys = -(-steps // self.key_every) * frame_bytes(layout) if self.key_every else 0
        return games * (steps * self.step_bytes(layout) + keys)


# ---- what it holds -----------------------------------------------------------------------------------


def array_rows() -> Rows:
    """Return name, dtype, shape in letters, unit and meaning of every array."""
    return [(a.name, a.dtype, letters(a.shape), a.unit, a.meaning) for a in ARRAYS]


def column_rows(table: Sequence[Column]) -> Rows:
    """Return number, name, unit and meaning of every column of a table."""
    return [(str(i), column.name, column.unit, column.meaning) for i, column in enumerate(table)]


def pair_rows(table: Sequence[PairColumn]) -> Rows:
    """Return number, name, value and version of every column of the form "pairs"."""
    return [(str(i), column.name, column.value, str(column.version)) for i, column in enumerate(table)]


def letters(shape: Sequence[object]) -> str:
    """Return a shape as text, such as (P, C); () for a single number."""
    inside = ", ".join(map(str, shape))
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


# ---- what it costs -----------------------------------------------------------------------------------


def num_features(layout: ObsLayout) -> int:
    """Return N, the length of one agent's feature vector."""
    owners = layout.num_players + 1
    of_globals, of_player, of_pair = (
        len(layout.columns(table)) for table in ("globals", "players", "borders")
    )
    return of_globals + layout.num_players * of_player + owners * (of_pair + len(REVERSE))


def frame_bytes(layout: ObsLayout) -> int:
    """Return the bytes of one packed frame."""
    return replace(layout, frames=1).nbytes("planes")


def changed_cells(layout: ObsLayout, percent: float) -> float:
    """Return how many cells that percentage is."""
    return layout.height * layout.width * percent / 100


def delta_bytes(layout: ObsLayout, changed_percent: float) -> float:
    """Return the bytes of the delta of a step that are of use: the count, indices and codes."""
    return 4 + changed_cells(layout, changed_percent) * (4 + 1)


def stored_bytes(layout: ObsLayout, changed_percent: float) -> float:
    """Return the bytes of a step of one game in a FrameStore, its regular whole frames aside."""
    cell = 2 if layout.height * layout.row_bytes * 8 <= 2**16 else 4
    where = 4 + 8 + 1  # how many cells, the place of the first, the age of the game
    return where + changed_cells(layout, changed_percent) * (cell + 1) + frame_bytes(layout) / GAME_STEPS


def tables_bytes(layout: ObsLayout) -> int:
    """Return the bytes of the numbers and the masks of one game."""
    return sum(layout.nbytes(name) for name in ("players", "borders", "globals", "masks"))


def forms(changed_percent: float = CHANGED_PERCENT, key_every: int = KEY_EVERY) -> tuple[Form, ...]:
    """Return all forms, from the packed ones to those that a network reads."""

    def all_agents(shape: Callable[[ObsLayout], tuple[int, ...]], width: int) -> Callable[[ObsLayout], float]:
        return lambda layout: layout.num_players * prod(shape(layout)) * width

    return (
        Form("delta", "the cells that changed", lambda layout: delta_bytes(layout, changed_percent)),
        Form(
            "frame store",
            f"deltas, and a packed frame every {key_every} steps and for every new game",
            lambda layout: stored_bytes(layout, changed_percent),
            key_every,
        ),
        Form("packed frame", "the newest board", frame_bytes),
        Form(
            "packed stack", "all frames, packed, kept with every step", lambda layout: layout.nbytes("planes")
        ),
        Form("tables", "players, borders, globals and masks", tables_bytes),
        Form("features", "float32, every agent", all_agents(lambda layout: (num_features(layout),), 4)),
        Form(
            "pairs",
            f"float32, {NUM_CANDIDATES} candidates, every agent",
            all_agents(lambda _: (len(OWN) + NUM_CANDIDATES * (len(PAIRS) + 1),), 4),
        ),
        Form(
            "pooled",
            f"float32, {POOL} x {POOL} cells a block, every agent",
            all_agents(lambda layout: pooled_shape(layout, POOL), 4),
        ),
        Form("one-hot", "int8, every agent", all_agents(onehot_shape, 1)),
        Form("flattened", "one-hot in float32, every agent", all_agents(onehot_shape, 4)),
    )


def in_bytes(number: float) -> str:
    """Return a size to three digits, such as 48.0 KB; a KB is 1,024 bytes."""
    units = ["bytes", "KB", "MB", "GB", "TB", "PB"]
    while number >= 1000 and len(units) > 1:
        number /= 1024
        units.pop(0)
    if units[0] == "bytes":
        return f"{number:.0f} bytes"
    return f"{number:.{max(0, 2 - len(str(int(number))) + 1)}f} {units[0]}"


# ---- as text -----------------------------------------------------------------------------------------


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return a Markdown table; ``align`` has ``r`` for the columns that are set to the right."""
    sides = ["--:" if side == "r" else "---" for side in align.ljust(len(header), "l")]
    lines = [" | ".join(cells) for cells in (header, *rows)]
    return "\n".join([f"| {lines[0]} |", f"|{'|'.join(sides)}|", *(f"| {line} |" for line in lines[1:])])


def aligned(rows: Sequence[Sequence[str]], align: str = "", indent: int = 2) -> str:
    """Return rows as lines of columns; ``align`` as for :func:`markdown`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [">" if side == "r" else "<" for side in align.ljust(len(widths), "l")]
    lines = (
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True))
        for row in rows
    )
    return "\n".join((" " * indent + line).rstrip() for line in lines)
