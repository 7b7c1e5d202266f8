"""What is in an observation, as data: tables, their columns, their units and ranges.

The packer, the spaces, the feature vector and the documentation read these tables. Columns are
addressed by name and only ever appended; ``OBS_VERSION`` moves when anything here changes.
"""

from __future__ import annotations

from dataclasses import dataclass

OBS_VERSION = 1


@dataclass(frozen=True)
class Column:
    """One number of a table, float32. ``scale`` makes a feature of about 0..1 of it: decode.layout."""

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
        "rank", "place", "players", "place by land, then troops; equals share a place; the dead keep theirs"
    ),
    Column("pools_out", "troops", "troops", "own troops in the field, all targets together"),
    Column("pools_in", "troops", "troops", "other players' troops in the field against this one"),
    Column("log_pools_out", "log2", "log", "log2(1 + pools_out), as log_troops"),
    Column("log_pools_in", "log2", "log", "log2(1 + pools_in), as log_troops"),
    Column("peak", "cells", "cells", "largest land, falling slowly when land is lost"),
    Column("peak_ratio", "ratio", "1", "L / peak; a player dies at a quarter"),
    Column("ticks_to_step", "ticks", "decision", "ticks to the next attack step, 0 without pools"),
    Column("cadence", "ticks", "decision", "ticks from one attack step to the next at this size"),
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

LARGEST_NEED = 4.0


def index(table: tuple[Column, ...], name: str) -> int:
    """Return the position of the column called ``name``; KeyError lists the names there are."""
    for position, column in enumerate(table):
        if column.name == name:
            return position
    raise KeyError(f"no column {name!r}; there are {', '.join(column.name for column in table)}")
