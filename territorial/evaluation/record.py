"""Records of games, and the files that store them.

A file has JSON lines that only grow, so that playing its games can be resumed.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from territorial.bots.style import MOST_TICKS
from territorial.config.validation import (
    check_type,
    checked_list,
    finite_number,
    raised_as,
    shown,
    true_or_false,
    whole_number,
)
from territorial.constants import LARGEST_SEED, MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS
from territorial.evaluation.outcome import PlacedGame, team_numbers, team_parts
from territorial.evaluation.schedule import MATCH, Key, Schedule, ScheduledGame
from territorial.files.bounded import Bounds, check_fields, differences, open_file, parse_object, whole_lines
from territorial.typing import Floats

LAND_EVERY = 250
"""Land is looked at after so many ticks and their multiples, or at the first decision after that."""
LONGEST_NAME = 500
"""Bytes of a seat's name in a file."""
MOST_RETURN = 1e15
"""Of a seat: no weights of parts and no number of ticks come to more."""
FILLED_PERCENT = 1
"""Neutral land is gone once less than so many per cent of the land are neutral."""


@dataclass(frozen=True, kw_only=True)
class GameRecord(PlacedGame):
    """One finished game of this package. Lists have an entry a seat, in seat order."""

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
    policy: str = ""
    """The policy that an evaluation tried; empty in a match."""
    scenario: str = MATCH
    """The scenario in which it did."""
    own: tuple[int, ...] = ()
    """The seats 1..P of this policy."""
    returns: tuple[float, ...] = ()
    """Sums of rewards, in an evaluation."""
    failed: tuple[int, ...] = ()
    """The seats 1..P of programs that gave no answer, and held from then on."""

    @property
    def key(self) -> Key:
        """The key of the game in its file."""
        return self.policy, self.scenario, self.game

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
        """Return the values, one per seat, of the policy's seats."""
        return np.array(values, np.float64)[np.array(self.own, np.int64) - 1]

    def to_json(self) -> str:
        """Return the record as one line of JSON, without fields that are the same in every match."""
        values = asdict(self)
        lean = {name: value for name, value in values.items() if value != OPTIONAL.get(name)}
        return json.dumps(lean, separators=(",", ":"))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the record of a line of JSON; ValueError if no game leads to it."""
        check_fields("a game", values, {spec.name for spec in fields(cls)} - set(OPTIONAL), OPTIONAL)
        with raised_as(ValueError, "", TypeError):
            return cls(**_checked(values))


OPTIONAL: dict[str, Any] = {**ScheduledGame._field_defaults, "returns": (), "failed": ()}
"""What a line may leave out, and what it then is."""


def bounds_of(max_ticks: int) -> Bounds:
    """Return how large the record of a game of so many ticks can be, as a line."""
    values = (max_ticks // LAND_EVERY + 10) * (MAX_PLAYERS + 2) + 100
    return Bounds(nbytes=12 * values + LONGEST_NAME * MAX_PLAYERS + 1000, values=values)


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record; ValueError and TypeError for impossible values."""
    values = OPTIONAL | given
    seats = checked_list("seats", values["seats"], str)
    players = whole_number("the number of seats", len(seats), MIN_PLAYERS, MAX_PLAYERS)
    num_land = whole_number("num_land", values["num_land"], 1, MAX_SIDE**2)
    rows = checked_list("land", values["land"])
    if not rows:
        raise ValueError("land has no entries; it must have at least one")
    own = _row("own", values["own"], None, whole_number, 1, players)
    for name in ("policy", "scenario"):
        check_type(name, values[name], str, "a string")
    return {
        "policy": values["policy"],
        "scenario": values["scenario"],
        "game": whole_number("game", values["game"], 0),
        "length": whole_number("length", values["length"], 0, MOST_TICKS),
        "filled": whole_number("filled", values["filled"], -1, MOST_TICKS),
        "seed": whole_number("seed", values["seed"], 0, LARGEST_SEED),
        "seats": seats,
        "places": _row("places", values["places"], players, finite_number, 1, players),
        "died": _row("died", values["died"], players, whole_number, -1, MOST_TICKS),
        "is_stopped": true_or_false("is_stopped", values["is_stopped"]),
        "num_land": num_land,
        "ticks": _row("ticks", values["ticks"], len(rows), whole_number, 0, MOST_TICKS),
        "land": tuple(
            _row(f"land[{i}]", row, players, whole_number, 0, num_land) for i, row in enumerate(rows)
        ),
        "teams": _row("teams", values["teams"], players if "teams" in given else 0, whole_number, 1, players),
        "own": own,
        "failed": _row("failed", values["failed"], None, whole_number, 1, players),
        "returns": _row(
            "returns", values["returns"], players if own else 0, finite_number, -MOST_RETURN, MOST_RETURN
        ),
    }


def _row(
    what: str, given: Any, entries: int | None, check: Callable[..., Any], *bounds: float
) -> tuple[Any, ...]:
    """Return the numbers of a list, each of which ``check`` has found within ``bounds``."""
    found = checked_list(what, given)
    if entries not in (None, len(found)):
        raise ValueError(f"{what} has {len(found):,} entries; it must have {entries}")
    return tuple(check(f"{what}[{i}]", number, *bounds) for i, number in enumerate(found))


# ---- files of results ----------------------------------------------------------------------------

FORMAT = "territorial games, version 1"
KIND = b'{"format": "territorial games, version '
"""How a file begins, of any version."""
LINE_BOUNDS = Bounds(nbytes=4 * 2**20, values=2**17)
"""Of a line, at least; long games may need more."""
COMPARED = ("rules", "seed", "code", "scenarios")
"""What the first line of a file and a schedule must agree on, as far as both have it."""
SHOWN = 5
"""Differences from other games that are named."""


class ResultsError(ValueError):
    """A file has no games, or other games, or is full; the message names the fault."""


class GameResults:
    """The games of a schedule that have been played, in memory and, if there is a ``path``, in a file.

    The first line of the file names the schedule, every further one is a finished game, in the order in which
    they ended, or names what a later schedule added. A last line that was cut short is dropped. Raises
    ResultsError for a file that belongs to other games or is damaged, and leaves it as it is.
    """

    def __init__(self, schedule: Schedule, path: str | os.PathLike[str] | None = None) -> None:
        self.schedule = schedule
        self._path = None if path is None else Path(path)
        self.games: dict[Key, GameRecord] = {}
        """All that have been played, by policy, scenario and number."""
        self._header = json.loads(json.dumps({"format": FORMAT, **schedule.to_dict()}))
        longest = bounds_of(max(scenario.config.max_ticks for scenario in schedule.scenarios.values()))
        self._bounds = Bounds(*map(max, LINE_BOUNDS, longest))
        if self._path is not None:
            self._open(self._path)

    @property
    def records(self) -> tuple[GameRecord, ...]:
        """The games of the schedule that have been played, in the order of their numbers."""
        return tuple(record for key, record in sorted(self.games.items()) if key in self.schedule)

    def add(self, records: Iterable[GameRecord]) -> Iterator[GameRecord]:
        """Keep every new record that comes, in the file at once, and yield it; ResultsError if that fails."""
        for record in records:
            if record.key not in self.games:
                if self._path is not None:
                    append(self._path, record.to_json() + "\n")
                self.games[record.key] = record
                yield record

    def _open(self, path: Path) -> None:
        text, last = json.dumps(self._header) + "\n", None
        if path.exists():
            with raised_as(ResultsError, f"{str(path)!r}, "):
                last, size = self._take_over(path)
            if last is None:
                with open_file(path) as file:
                    if not text.encode().startswith(file.read(len(text) + 1)):
                        raise ResultsError(f"{str(path)!r} is not a file of games")
            if size < path.stat().st_size:
                os.truncate(path, size)
        if last is None or any(last[name] != self._header[name] for name in ("code", "scenarios")):
            append(path, text)

    def _take_over(self, path: Path) -> tuple[dict[str, Any] | None, int]:
        """Keep the games in a file; return the last line that names a schedule, and the bytes of whole lines.

        None and 0 for a file that does not begin with such a line.
        """
        last, size = None, 0
        with open_file(path) as file:
            for number, line in enumerate(whole_lines(file, self._bounds.nbytes), start=1):
                if last is None and not line.startswith(KIND):
                    break
                with raised_as(ValueError, f"line {number}: "):
                    found = parse_object(line, self._bounds)
                    if "format" in found:
                        last = self._checked_header(found)
                    else:
                        record = self._checked_record(found)
                        self.games.setdefault(record.key, record)
                size += len(line)
        return last, size

    def _checked_record(self, values: dict[str, Any]) -> GameRecord:
        record = GameRecord.from_dict(values)
        if record.seed != self.schedule.seed + record.game:
            raise ValueError(f"seed is {record.seed}, which is not the seed of game {record.game}")
        is_known = record.scenario in self.schedule.scenarios
        scheduled = self.schedule.scheduled_game(*record.key)._asdict() if is_known else {}
        if any(getattr(record, name) != value for name, value in scheduled.items()):
            raise ValueError(f"the seats of game {record.game} are not those of its scenario")
        return record

    def _checked_header(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return a line that names a schedule; ValueError unless it agrees with the one here."""
        if found["format"] != FORMAT:
            raise ValueError(f"the format is {shown(found['format'])}; this release has {FORMAT!r}")
        different = [
            text for name in COMPARED for text in differences(name, found.get(name), self._header[name])
        ]
        if different:
            more = f"; and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
            raise ValueError(f"it records different games: {'; '.join(different[:SHOWN])}{more}")
        return found


def append(path: Path, lines: str) -> None:
    """Add lines to the end of a file; ResultsError if they cannot be written."""
    try:
        with path.open("ab") as file:
            file.write(lines.encode())
    except OSError as error:
        raise ResultsError(f"{str(path)!r} cannot be written: {error.strerror}") from None
