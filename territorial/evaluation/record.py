"""What is kept of a game of a contest: the players, how it ended, and all players' land on the way."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from territorial.config import GameConfig
from territorial.config.validation import checked_list, finite_number, true_or_false, whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS
from territorial.evaluation.schedule import Fixture
from territorial.evaluation.teams import Teams
from territorial.files.strict_json import Bounds, check_fields, parse_object

LAND_EVERY = 250
"""Land is looked at after so many ticks and their multiples, or at the first decision after that."""
_NUMBERS = {"game": 0, "length": 0, "filled": -1}
"""The least that they can be."""
LONGEST_NAME = 500
"""Bytes of a seat's name in a file."""
FILLED_PERCENT = 1
"""Neutral land is gone once less than so many per cent of the land are neutral."""


@dataclass(frozen=True)
class GameRecord:
    """One finished game. Lists have an entry a seat, in seat order."""

    game: int
    """Its number in the contest."""
    seed: int
    seats: tuple[str, ...]
    places: tuple[float, ...]
    """1 is the winner; equals share the mean of their places. With teams those of the teams."""
    died: tuple[int, ...]
    """The tick of death, -1 for those who lived to the end."""
    length: int
    """Ticks played."""
    is_stopped: bool
    """The game ended because its time was over."""
    filled: int
    """The tick at which neutral land was gone for the first time, -1 if it never was."""
    num_land: int
    """Land cells of the map."""
    ticks: tuple[int, ...]
    """When land was looked at: at tick 0, every LAND_EVERY ticks while the game went on, and at its end."""
    land: tuple[tuple[int, ...], ...]
    """All players' cells at each of these ticks."""
    teams: Teams = ()
    """The team 1..N of each seat; empty without teams, and not in the file then."""

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        values = asdict(self)
        if not self.teams:
            del values["teams"]
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: bytes, bounds: Bounds) -> GameRecord:
        """Return the record in a line of JSON, see ``bounds_of``; ValueError if there is none."""
        values = parse_object(line, bounds)
        check_fields("a game", values, {spec.name for spec in fields(cls)} - {"teams"}, {"teams"})
        try:
            return cls(**_checked(values))
        except TypeError as error:
            raise ValueError(str(error)) from None

    def is_of(self, fixture: Fixture) -> bool:
        """Return whether this is how ``fixture`` came out."""
        return (self.game, self.seed, self.seats, self.teams) == fixture


def bounds_of(config: GameConfig) -> Bounds:
    """Return how large the record of a game can be, as a line."""
    looks = config.max_ticks // LAND_EVERY + 3
    values = (looks + 5) * (config.num_players + 2) + 100
    return Bounds(nbytes=12 * values + LONGEST_NAME * config.num_players + 1000, values=values)


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record; ValueError and TypeError for what no game leads to."""
    seats = checked_list("seats", values["seats"], str)
    players = whole_number("the number of seats", len(seats), MIN_PLAYERS, MAX_PLAYERS)
    land_cells = whole_number("num_land", values["num_land"], 1, MAX_SIDE**2)
    ticks = _row("ticks", values["ticks"], None, 0)
    rows = checked_list("land", values["land"])
    if not ticks or len(rows) != len(ticks):
        raise ValueError(
            f"ticks has {len(ticks)} entries and land has {len(rows)}; both must have the "
            "same number, at least one"
        )
    return {
        **{name: whole_number(name, values[name], low) for name, low in _NUMBERS.items()},
        "seed": whole_number("seed", values["seed"], 0, LARGEST_SEED),
        "seats": seats,
        "places": tuple(
            finite_number(f"places[{i}]", place, 1, players)
            for i, place in enumerate(_entries("places", values["places"], players))
        ),
        "died": _row("died", values["died"], players, -1),
        "is_stopped": true_or_false("is_stopped", values["is_stopped"]),
        "num_land": land_cells,
        "ticks": ticks,
        "land": tuple(_row(f"land[{i}]", row, players, 0, land_cells) for i, row in enumerate(rows)),
        "teams": _row("teams", values["teams"], players, 1, players) if "teams" in values else (),
    }


def _row(what: str, given: Any, entries: int | None, low: int, high: int | None = None) -> tuple[int, ...]:
    numbers = checked_list(what, given) if entries is None else _entries(what, given, entries)
    return tuple(whole_number(f"{what}[{i}]", number, low, high) for i, number in enumerate(numbers))


def _entries(what: str, given: Any, entries: int) -> tuple[Any, ...]:
    found = checked_list(what, given)
    if len(found) != entries:
        raise ValueError(f"{what} has {len(found):,} entries; there are {entries} seats")
    return found
