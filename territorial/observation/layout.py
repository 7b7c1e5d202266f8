"""Observation schema: arrays, tables and columns with units and ranges.

The packer, the decoders, the spaces, the feature vector, the documentation and the command line read
these tables. Columns are addressed by name and only ever appended; ``OBS_VERSION`` moves when anything
else here changes.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import prod
from typing import Any

from territorial.config import GameConfig
from territorial.config.validation import true_or_false, whole_number
from territorial.constants import MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS, MIN_SIDE, OBS_VERSION

MAX_FRAMES = 16
"""Longest stack of frames that one observation may hold."""
RANGES = {
    "height": (MIN_SIDE, MAX_SIDE),
    "width": (MIN_SIDE, MAX_SIDE),
    "num_players": (MIN_PLAYERS, MAX_PLAYERS),
    "frames": (0, MAX_FRAMES),
}
"""The least and the most of each number that a layout depends on."""

NEW_GAME, NOT_LISTED = -1, -2
"""``delta_count`` of key frames, which list no changes: the first of a game; where too many cells changed."""


@dataclass(frozen=True)
class Array:
    """One array of an observation of one game; ``shape`` is in letters, see :class:`ObsLayout`."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    unit: str
    meaning: str


ARRAYS: tuple[Array, ...] = (
    Array(
        "planes",
        "uint8",
        ("F", "B", "H", "ceil(W/8)"),
        "bits",
        "owner codes of all cells in binary, plane 0 the lowest bit; column c is bit c % 8 of byte c // 8. "
        "Entry 0 is the newest frame, entry i the XOR of the frames i - 1 and i steps back",
    ),
    Array("delta_index", "uint32", ("D",), "cell", "cells changed in the last step, row * W + column each"),
    Array("delta_code", "uint8", ("D",), "owner code", "who owns them now"),
    Array(
        "delta_count",
        "int32",
        (),
        "cells",
        "how many entries of the delta count; below 0 none do, so take the newest frame (a key frame): -1 "
        "where the game is new, -2 where too many cells changed",
    ),
    Array(
        "terrain",
        "uint8",
        ("2", "H", "ceil(W/8)"),
        "bits",
        "plane 0: blocked cells, plane 1: those of them that are water; the same all game long",
    ),
    Array("players", "float32", ("P", "C"), "columns", "one row per seat, see the columns of players"),
    Array(
        "borders",
        "float32",
        ("K", "P+1", "P+1"),
        "columns",
        "one matrix per column of borders: from player p to owner t, by owner codes; row 0 is zero",
    ),
    Array("globals", "float32", ("G",), "columns", "what is the same for all seats, see globals"),
    Array(
        "masks",
        "uint8",
        ("P", "ceil((P+2)/8)"),
        "bits",
        "legal actions of each seat: bit 0 holds, bit t + 1 is a launch against owner t (lowest bit first)",
    ),
)

TERRAIN = ("blocked", "water")
"""The planes of ``terrain``."""


@dataclass(frozen=True)
class Column:
    """One number of a table, float32. ``scale`` makes a feature of about 0..1 of it: decode.features."""

    name: str
    unit: str
    scale: str
    meaning: str


PLAYERS: tuple[Column, ...] = (
    Column("alive", "0 or 1", "1", "still in the game"),
    Column("land", "cells", "cells", "cells owned, L"),
    Column("troops", "troops", "troops", "balance at home, T"),
    Column("log_land", "log2", "log", "log2(1 + L), straight between powers of two"),
    Column("log_troops", "log2", "log", "log2(1 + T), straight between powers of two"),
    Column("density", "troops per cell", "hard cap", "T / L"),
    Column("fill", "ratio", "1", "T over the soft cap; interest falls above 1"),
    Column("interest", "per cent", "1", "rate of the next interest payment at the present tick"),
    Column("land_share", "ratio", "1", "L over all land of the map"),
    Column("troops_share", "ratio", "1", "T over the troops of all players"),
    Column(
        "rank",
        "place",
        "players",
        "place by land, then troops, with teams that of the team; equals share a place; who is out keeps it",
    ),
    Column("pools_out", "troops", "troops", "own troops in the field, all targets together"),
    Column("pools_in", "troops", "troops", "other players' troops in the field against this one"),
    Column("log_pools_out", "log2", "log", "log2(1 + pools_out), as log_troops"),
    Column("log_pools_in", "log2", "log", "log2(1 + pools_in), as log_troops"),
    Column("peak", "cells", "cells", "largest land, falling slowly when land is lost"),
    Column("peak_ratio", "ratio", "1", "L / peak; a player dies at a quarter"),
    Column("ticks_to_step", "ticks", "decision", "ticks to the next attack step, 0 without pools"),
    Column("cadence", "ticks", "decision", "ticks from one attack step to the next at this size"),
    Column("illegal", "count", "decisions", "launches so far that were not legal and did nothing"),
)

BORDERS: tuple[Column, ...] = (
    Column("front", "cells", "cells", "size of front(p, t): cells of t beside cells of p"),
    Column("pool", "troops", "troops", "A[p][t], troops that p has in the field against t"),
    Column("log_front", "log2", "log", "log2(1 + front), straight between powers of two"),
    Column("log_pool", "log2", "log", "log2(1 + pool), straight between powers of two"),
    Column("taken", "cells", "cells", "cells that p has taken from t so far"),
    Column("need", "ratio", "1", "need of a launch over T, 0 where there is no front, at most 4"),
)

GLOBALS: tuple[Column, ...] = (
    Column("tick", "ticks", "game", "ticks played"),
    Column("ticks_to_interest", "ticks", "interest", "ticks to the next interest payment"),
    Column("ticks_to_income", "ticks", "income", "ticks to the next income payment"),
    Column("neutral_share", "ratio", "1", "share of the map's land that is neutral"),
    Column("opening", "ratio", "1", "what is left of the opening's extra interest, 1 to 0"),
    Column("alive_share", "ratio", "1", "share of the players still alive"),
)

TABLES: Mapping[str, tuple[Column, ...]] = {"players": PLAYERS, "borders": BORDERS, "globals": GLOBALS}
"""The columns of every game by the names of their arrays; games with teams have those of TEAM_TABLES, too."""

TEAM_TABLES: Mapping[str, tuple[Column, ...]] = {
    "players": (Column("team", "number", "players", "team of the seat, 1..N; there with teams only"),),
    "borders": (
        Column("ally", "0 or 1", "1", "1 if p and t are two seats of one team; there with teams only"),
    ),
    "globals": (),
}
"""The columns that games with teams have after all others, by the names of their arrays."""

LARGEST_NEED = 4.0


def columns(table: str, *, teams: bool) -> tuple[Column, ...]:
    """Return the columns of ``table`` (players, borders or globals) in games with or without ``teams``."""
    return TABLES[table] + TEAM_TABLES[table] if teams else TABLES[table]


def index(table: Sequence[Array | Column], name: str) -> int:
    """Return the position of what is called ``name``; KeyError lists the names there are."""
    names = [one.name for one in table]
    if name not in names:
        raise KeyError(f"there is no {name!r}; there are {', '.join(names)}")
    return names.index(name)


def positions(table: Sequence[Any]) -> Any:
    """Return the position of each column of a table by its name, as a tuple that kernels can read."""
    return namedtuple("Positions", [column.name for column in table])(*range(len(table)))


@dataclass(frozen=True, kw_only=True)
class ObsLayout:
    """The sizes of an observation, from which all shapes follow; a decoder needs nothing else.

    Letters: H rows, W columns, P players, F frames in a stack. B bit planes hold the owner codes 0..P and
    the code P + 1 of blocked cells; D is the most cells that a delta lists. C, K, G are columns of the tables
    ``PLAYERS``, ``BORDERS`` and ``GLOBALS``; with ``teams`` the first two have one more each. Errors name the
    field, its value and its range.
    """

    height: int
    width: int
    num_players: int
    frames: int = 1
    version: int = OBS_VERSION
    teams: bool = False

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), low, high))
        object.__setattr__(self, "teams", true_or_false("teams", self.teams))
        if self.version != OBS_VERSION:
            raise ValueError(
                f"the layout is of version {self.version!r}; this release reads version {OBS_VERSION}"
            )

    @classmethod
    def of(cls, config: GameConfig, frames: int = 1) -> ObsLayout:
        """Return the layout of the observations of games of ``config``."""
        return cls(
            height=config.height,
            width=config.width,
            num_players=config.num_players,
            frames=frames,
            teams=config.teams is not None,
        )

    def columns(self, table: str) -> tuple[Column, ...]:
        """Return the columns of ``table``: players, borders or globals."""
        return columns(table, teams=self.teams)

    @property
    def num_planes(self) -> int:
        """B, the bits of the largest code, P + 1."""
        return (self.num_players + 1).bit_length()

    @property
    def blocked_code(self) -> int:
        """P + 1, the code of blocked cells in ``planes``."""
        return self.num_players + 1

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of a bit plane."""
        return -(-self.width // 8)

    @property
    def delta_capacity(self) -> int:
        """D: a sixteenth of the cells. With 32 bots a step changes one in 200; one in 5,000 overflows."""
        return self.height * self.width // 16

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of the array ``name`` for one game; KeyError lists the names there are."""
        sizes = {
            "F": self.frames,
            "B": self.num_planes,
            "H": self.height,
            "ceil(W/8)": self.row_bytes,
            "D": self.delta_capacity if self.frames else 0,
            "2": len(TERRAIN),
            "P": self.num_players,
            "P+1": self.num_players + 1,
            "C": len(self.columns("players")),
            "K": len(self.columns("borders")),
            "G": len(self.columns("globals")),
            "ceil((P+2)/8)": -(-(self.num_players + 2) // 8),
        }
        return tuple(sizes[letter] for letter in array_called(name).shape)

    def nbytes(self, name: str) -> int:
        """Return the bytes of the array ``name`` for one game."""
        widths = {"uint8": 1, "int32": 4, "uint32": 4, "float32": 4}
        return prod(self.shape(name)) * widths[array_called(name).dtype]

    def to_dict(self) -> dict[str, int]:
        """Return the fields as plain numbers, for a file or another process; ``from_dict`` reads them.

        ``teams`` is only there where it is true, so that other layouts are read by releases without it.
        """
        values = asdict(self)
        return values if self.teams else {name: values[name] for name in values if name != "teams"}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ObsLayout:
        """Return the layout of ``to_dict``; ValueError for missing and for unknown fields."""
        known = {field.name for field in fields(cls)}
        if set(values) | {"teams"} != known:
            raise ValueError(f"the layout has the fields {sorted(values)}; it must have {sorted(known)}")
        return cls(**values)


def array_called(name: str) -> Array:
    """Return the array called ``name``; KeyError lists the names there are."""
    return ARRAYS[index(ARRAYS, name)]
