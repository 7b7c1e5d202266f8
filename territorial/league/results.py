"""The file of a contest's results: JSON lines that only grow, so that a contest can be gone on with."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from territorial.config import NOT_OF_THE_GAME
from territorial.league.contest import Contest, Draw
from territorial.league.record import GameRecord

KIND = "territorial contest, version "
FORMAT = f"{KIND}2"
SHOWN = 5
"""Differences from another contest that are named."""


class ResultsError(ValueError):
    """A file is not that of a contest, or of another one, or full; the message says what is wrong with it."""


class Results:
    """The games of a contest that have been played, in memory and, if there is a ``path``, in a file.

    The first line of the file names the contest, every further one is a finished game, in the order in which
    they ended. A last line that was cut short is dropped. Raises ResultsError for a file that belongs to
    another contest or is damaged, and leaves it as it is.
    """

    def __init__(self, contest: Contest, path: str | os.PathLike[str] | None = None) -> None:
        self.contest = contest
        self.path = None if path is None else Path(path)
        self._records: dict[int, GameRecord] = {}
        if self.path is not None:
            self._open(self.path)

    @property
    def numbers(self) -> set[int]:
        """The numbers of the games that have been played."""
        return set(self._records)

    @property
    def records(self) -> tuple[GameRecord, ...]:
        """The games of the contest that have been played, in the order of their numbers."""
        return tuple(self._records[number] for number in sorted(self._records) if number < self.contest.games)

    def add(self, records: Iterable[GameRecord]) -> Iterator[GameRecord]:
        """Keep every record that comes, in the file at once, and yield it; ResultsError if that fails."""
        for record in records:
            if self.path is not None:
                _append(self.path, record.to_json() + "\n")
            yield self._keep(record)

    def _keep(self, record: GameRecord) -> GameRecord:
        self._records[record.game] = record
        return record

    def _open(self, path: Path) -> None:
        header = {"format": FORMAT, **self.contest.to_dict()}
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.decode("utf-8", errors="replace").splitlines()
        if not lines:
            if data and not json.dumps(header).encode().startswith(data):
                raise ResultsError(f"{str(path)!r} is no file of a contest")
            path.write_text(json.dumps(header) + "\n", encoding="utf-8")
            return
        _check_header(path, lines[0], header)
        for number, line in enumerate(lines[1:], start=2):
            self._keep(self._read(path, number, line))
        if len(whole) < len(data):
            os.truncate(path, len(whole))

    def _read(self, path: Path, number: int, line: str) -> GameRecord:
        try:
            record = GameRecord.from_json(line)
            if record.game < self.contest.games and not record.is_of(self.contest.fixture(record.game)):
                raise ValueError(f"game {record.game} has other seats or another seed than the contest says")
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ResultsError(f"{str(path)!r}, line {number}: {error}") from None
        return record


def _append(path: Path, line: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise ResultsError(f"{str(path)!r} cannot be written: {error.strerror}") from None


def _check_header(path: Path, line: str, header: dict[str, Any]) -> None:
    """Raise ResultsError unless ``line`` names the contest of ``header``, whatever release began it."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not str(found.get("format")).startswith(KIND):
        raise ResultsError(f"{str(path)!r} is no file of a contest")
    if found["format"] != FORMAT:
        raise ResultsError(f"{str(path)!r} has the format {found['format']!r}; this release has {FORMAT!r}")
    different = _differences(found, json.loads(json.dumps(header)))
    if different:
        more = f"; and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
        raise ResultsError(f"{str(path)!r} is of another contest: {'; '.join(different[:SHOWN])}{more}")


def _differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Return in what two contests differ, one text each; empty if they are the same."""
    found = [
        f"its {name} is {there.get(name)!r}, here it is {here[name]!r}"
        for name in ("rules", "draw", "seed")
        if there.get(name) != here[name]
    ]
    if there.get("config") != here["config"]:
        found += _other_settings(there.get("settings", {}), here["settings"]) or [
            "its config has another digest"
        ]
    if there.get("draw") == here["draw"]:
        found += _other_players(there.get("players", []), here["players"], here["draw"])
    return found + _other_code(there.get("code", {}), here["code"])


def _other_settings(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    return [
        f"its {name} is {there[name]!r}, here it is {value!r}"
        for name, value in here.items()
        if name not in NOT_OF_THE_GAME and name in there and there[name] != value
    ]


def _other_code(there: dict[str, str], here: dict[str, str]) -> list[str]:
    """Return whose code has changed; who plays in one contest alone is another player anyway."""
    return [
        f"the code of {name!r} has changed since (digest {there[name]}, here {digest})"
        for name, digest in here.items()
        if there.get(name, digest) != digest
    ]


def _other_players(there: list[str], here: list[str], draw: Draw) -> list[str]:
    """Return the seats that others have; where seats are dealt, the players that are not in both."""
    if draw == "fixed" or sorted(there) == sorted(here):
        pairs = enumerate(zip(there, here, strict=False))  # the number of seats is a setting
        what = "seat" if draw == "fixed" else "player"
        return [f"its {what} {i + 1} is {old!r}, here it is {new!r}" for i, (old, new) in pairs if old != new]
    return [
        *(f"only there plays {name!r}" for name in (Counter(there) - Counter(here)).elements()),
        *(f"only here plays {name!r}" for name in (Counter(here) - Counter(there)).elements()),
    ]
