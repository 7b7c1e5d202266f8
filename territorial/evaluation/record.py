"""What is kept of a game that was played: the players, how it ended, and in a match land on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from territorial.config.validation import checked_list, finite_number, shown, true_or_false, whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS
from territorial.evaluation.outcome import Teams, team_numbers, team_parts
from territorial.evaluation.schedule import MATCH, Key, ScheduledGame
from territorial.files.bounded import Bounds, check_fields
from territorial.typing import Floats

LAND_EVERY = 250
"""Land is looked at after so many ticks and their multiples, or at the first decision after that."""
LONGEST_NAME = 500
"""Bytes of a seat's name in a file."""
FILLED_PERCENT = 1
"""Neutral land is gone once less than so many per cent of the land are neutral."""


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """One finished game. Lists have an entry a seat, in seat order."""

    game: int
    """Its number."""
    seed: int
    seats: tuple[str, ...]
    """Who played each seat."""
    places: tuple[float, ...]
    """1 is the winner; equals share the mean of their places. With teams those of the teams."""
    died: tuple[int, ...]
    """The tick of death, -1 for those who lived to the end."""
    length: int
    """Ticks played."""
    is_stopped: bool
    """Nobody had won: the time of the game was over, or an evaluation left it."""
    filled: int
    """The tick at which neutral land was gone for the first time, -1 if it never was."""
    num_land: int
    """Land cells of the map."""
    ticks: tuple[int, ...]
    """When land was looked at: at its end, and in a match at tick 0 and every LAND_EVERY ticks."""
    land: tuple[tuple[int, ...], ...]
    """All players' cells at each of these ticks."""
    teams: Teams = ()
    """The team 1..N of each seat; empty without teams."""
    policy: str = ""
    """The policy that an evaluation tried; empty in a match."""
    setting: str = MATCH
    """The setting in which it did."""
    own: tuple[int, ...] = ()
    """The seats 1..P of this policy."""
    returns: tuple[float, ...] = ()
    """Sums of rewards, in an evaluation."""

    @property
    def key(self) -> Key:
        """What tells the game from the others of its file."""
        return self.policy, self.setting, self.game

    @property
    def last_place(self) -> int:
        """The last place that there is."""
        return len(set(self.teams) or self.seats)

    @property
    def place(self) -> float:
        """The mean place of the policy; with teams over its teams, each as far as the seats are its own."""
        parts = team_parts(team_numbers(self.teams, len(self.seats)))
        return float(np.average(self.of_policy(self.places), weights=self.of_policy(parts)))

    def of_policy(self, values: Sequence[float] | Floats) -> Floats:
        """Return those of values, one a seat, that are of the policy's seats."""
        return np.array(values, np.float64)[np.array(self.own, np.int64) - 1]

    def to_json(self) -> str:
        """Return the record as one line of JSON, without what is as in every match."""
        values = asdict(self)
        lean = {name: value for name, value in values.items() if value != OPTIONAL.get(name)}
        return json.dumps(lean, separators=(",", ":"))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> GameRecord:
        """Return the record of a line of JSON; ValueError if no game leads to it."""
        check_fields("a game", values, {spec.name for spec in fields(cls)} - set(OPTIONAL), OPTIONAL)
        try:
            return cls(**_checked(values))
        except TypeError as error:
            raise ValueError(str(error)) from None

    def is_of(self, fixture: ScheduledGame) -> bool:
        """Return whether this is how ``fixture`` came out."""
        return all(getattr(self, name) == value for name, value in fixture._asdict().items())


OPTIONAL: dict[str, Any] = {**ScheduledGame._field_defaults, "returns": ()}
"""What a line may leave out, and what it then is."""


def bounds_of(max_ticks: int) -> Bounds:
    """Return how large the record of a game of so many ticks can be, as a line."""
    values = (max_ticks // LAND_EVERY + 10) * (MAX_PLAYERS + 2) + 100
    return Bounds(nbytes=12 * values + LONGEST_NAME * MAX_PLAYERS + 1000, values=values)


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record; ValueError and TypeError for what no game leads to."""
    values = OPTIONAL | given
    seats = checked_list("seats", values["seats"], str)
    players = whole_number("the number of seats", len(seats), MIN_PLAYERS, MAX_PLAYERS)
    num_land = whole_number("num_land", values["num_land"], 1, MAX_SIDE**2)
    rows = checked_list("land", values["land"])
    if not rows:
        raise ValueError("land has no entries; it must have at least one")
    own = _row("own", values["own"], None, whole_number, 1, players)
    for name in ("policy", "setting"):
        if not isinstance(values[name], str):
            raise TypeError(f"{name} is {shown(values[name])}; it must be a string")
    return {
        "policy": values["policy"],
        "setting": values["setting"],
        "game": whole_number("game", values["game"], 0),
        "length": whole_number("length", values["length"], 0),
        "filled": whole_number("filled", values["filled"], -1),
        "seed": whole_number("seed", values["seed"], 0, LARGEST_SEED),
        "seats": seats,
        "places": _row("places", values["places"], players, finite_number, 1, players),
        "died": _row("died", values["died"], players, whole_number, -1),
        "is_stopped": true_or_false("is_stopped", values["is_stopped"]),
        "num_land": num_land,
        "ticks": _row("ticks", values["ticks"], len(rows), whole_number, 0),
        "land": tuple(
            _row(f"land[{i}]", row, players, whole_number, 0, num_land) for i, row in enumerate(rows)
        ),
        "teams": _row("teams", values["teams"], players if "teams" in given else 0, whole_number, 1, players),
        "own": own,
        "returns": _row("returns", values["returns"], players if own else 0, finite_number),
    }


def _row(
    what: str, given: Any, entries: int | None, check: Callable[..., Any], *bounds: int
) -> tuple[Any, ...]:
    """Return the numbers of a list, each of which ``check`` has found within ``bounds``."""
    found = checked_list(what, given)
    if entries not in (None, len(found)):
        raise ValueError(f"{what} has {len(found):,} entries; it must have {entries}")
    return tuple(check(f"{what}[{i}]", number, *bounds) for i, number in enumerate(found))
