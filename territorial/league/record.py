"""What is kept of a game of a contest: who played, how it came out, and everybody's land on the way."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from territorial.league.contest import Fixture

LAND_EVERY = 250
"""Land is looked at after so many ticks and their multiples, or at the first decision after that."""
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
    """1 is the winner; equals share the mean of their places."""
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
    """Everybody's cells at each of these ticks."""

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> GameRecord:
        """Return the record in a line of JSON; ValueError if there is none."""
        values: Any = json.loads(line)
        names = {spec.name for spec in fields(cls)}
        if not isinstance(values, dict) or values.keys() != names:
            raise ValueError("a game has the fields " + ", ".join(sorted(names)))
        for name in ("seats", "places", "died", "ticks"):
            values[name] = tuple(values[name])
        values["land"] = tuple(map(tuple, values["land"]))
        record = cls(**values)
        if not len(record.seats) == len(record.places) == len(record.died) == len(record.land[0]):
            raise ValueError("seats, places, died and land have different numbers of entries")
        if len(record.ticks) != len(record.land):
            raise ValueError(f"ticks has {len(record.ticks)} entries, land has {len(record.land)}")
        return record

    def is_of(self, fixture: Fixture) -> bool:
        """Return whether this is how ``fixture`` came out."""
        return (self.game, self.seed, self.seats) == fixture
