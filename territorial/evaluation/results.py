"""The file of a contest's results: JSON lines that only grow, so that a contest can be resumed."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from territorial.config import NOT_OF_THE_GAME
from territorial.config.validation import shown
from territorial.evaluation.record import GameRecord, bounds_of
from territorial.evaluation.schedule import Contest, Draw
from territorial.files.atomic import write_file
from territorial.files.bounded import open_file, whole_lines
from territorial.files.locks import InUseError, one_writer
from territorial.files.strict_json import Bounds, parse_object
from territorial.files.writable import check_file

KIND = "territorial contest, version "
FORMAT = f"{KIND}2"
HEADER_BOUNDS = Bounds(nbytes=4 * 2**20, values=2**17)
"""Of the first line."""
SHOWN = 5
"""Differences from another contest that are named."""
ORDERED: Mapping[str, str] = {"fixed": "seat", "fixed_teams": "team"}
"""Draws in which each player has its place in every game, and what that place is."""


class ResultsError(ValueError):
    """A file is not that of a contest, or of another one, or full; the message says what is wrong with it."""


@contextmanager
def playing_into(out: str | os.PathLike[str] | None) -> Iterator[None]:
    """Be the only one who plays games into a file; ResultsError if another process does.

    OSError, which names what is in the way, for a file that cannot be written.
    """
    with ExitStack() as held:
        if out is not None:
            check_file(out)
            try:
                held.enter_context(one_writer(Path(f"{os.fspath(out)}.lock")))
            except InUseError as error:
                raise ResultsError(
                    f"another process plays games into {os.fspath(out)!r} ({error.holder}); wait until it "
                    "has ended, or name another file"
                ) from None
        yield


class ContestResults:
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
                append(self.path, record.to_json() + "\n")
            yield self._keep(record)

    def _keep(self, record: GameRecord) -> GameRecord:
        self._records[record.game] = record
        return record

    def _open(self, path: Path) -> None:
        header = {"format": FORMAT, **self.contest.to_dict()}
        text = json.dumps(header).encode() + b"\n"
        try:
            if not _is_begun(path, text):
                write_file(path, text)
            with open_file(path) as file:
                size = self._take_over(path, file, header)
        except ResultsError:
            raise
        except ValueError as error:
            raise ResultsError(f"{str(path)!r}: {error}") from None
        if size < path.stat().st_size:
            os.truncate(path, size)

    def _take_over(self, path: Path, file: BinaryIO, header: dict[str, Any]) -> int:
        """Keep the games in a file, and return the bytes of its lines that are whole."""
        first = next(whole_lines(file, HEADER_BOUNDS.nbytes))
        _check_header(path, first, header)
        size, bounds = len(first), bounds_of(self.contest.config)
        for number, line in enumerate(whole_lines(file, bounds.nbytes, first=2), start=2):
            self._keep(self._read(path, number, line, bounds))
            size += len(line)
        return size

    def _read(self, path: Path, number: int, line: bytes, bounds: Bounds) -> GameRecord:
        try:
            record = GameRecord.from_json(line, bounds)
            if record.game < self.contest.games and not record.is_of(self.contest.fixture(record.game)):
                raise ValueError(f"game {record.game} has other seats or another seed than the contest says")
        except ValueError as error:
            raise ResultsError(f"{str(path)!r}, line {number}: {error}") from None
        return record


def _is_begun(path: Path, header: bytes) -> bool:
    """Return whether a file has a first line; ResultsError for a part of one that is not of ``header``."""
    if not path.exists():
        return False
    with open_file(path) as file:
        line = file.readline(HEADER_BOUNDS.nbytes + 1)
    if not line.endswith(b"\n") and not header.startswith(line):
        raise ResultsError(f"{str(path)!r} is not a file of a contest")
    return line.endswith(b"\n")


def append(path: Path, lines: str) -> None:
    """Add lines to the end of a file, in one piece; ResultsError if they cannot be written."""
    left = memoryview(lines.encode())
    try:
        with path.open("ab", buffering=0) as file:
            while left:
                left = left[file.write(left) :]
    except OSError as error:
        raise ResultsError(f"{str(path)!r} cannot be written: {error.strerror}") from None


def _check_header(path: Path, line: bytes, header: dict[str, Any]) -> None:
    """Raise ResultsError unless ``line`` names the contest of ``header``, whatever release began it."""
    try:
        found = parse_object(line, HEADER_BOUNDS)
    except ValueError:
        found = {}
    if not str(found.get("format")).startswith(KIND):
        raise ResultsError(f"{str(path)!r} is not a file of a contest")
    if found["format"] != FORMAT:
        raise ResultsError(
            f"{str(path)!r} has the format {shown(found['format'])}; this release has {FORMAT!r}"
        )
    for name, kind in {"settings": dict, "players": list, "code": dict}.items():
        if not isinstance(found.get(name, kind()), kind):
            wanted = "a list" if kind is list else "an object with names"
            raise ResultsError(f"{str(path)!r}, line 1: {name} is {shown(found[name])}; it must be {wanted}")
    different = _differences(found, json.loads(json.dumps(header)))
    if different:
        more = f"; and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
        raise ResultsError(f"{str(path)!r} is of another contest: {'; '.join(different[:SHOWN])}{more}")


def _differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Return in what two contests differ, one text each; empty if they are the same."""
    found = [
        f"its {name} is {shown(there.get(name))}, here it is {here[name]!r}"
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
        f"its {name} is {shown(there[name])}, here it is {value!r}"
        for name, value in here.items()
        if name not in NOT_OF_THE_GAME and name in there and there[name] != value
    ]


def _other_code(there: dict[str, str], here: dict[str, str]) -> list[str]:
    """Return whose code has changed; who plays in one contest alone is another player anyway."""
    return [
        f"the code of {name!r} has changed since (digest {shown(there[name])}, here {digest})"
        for name, digest in here.items()
        if there.get(name, digest) != digest
    ]


def _other_players(there: list[str], here: list[str], draw: Draw) -> list[str]:
    """Return the seats that others have; where seats are dealt, the players that are not in both."""
    there = [name if isinstance(name, str) else shown(name) for name in there]
    if draw in ORDERED or sorted(there) == sorted(here):
        pairs = enumerate(zip(there, here, strict=False))  # the number of seats is a setting
        what = ORDERED.get(draw, "player")
        return [f"its {what} {i + 1} is {old!r}, here it is {new!r}" for i, (old, new) in pairs if old != new]
    return [
        *(f"only there plays {name!r}" for name in (Counter(there) - Counter(here)).elements()),
        *(f"only here plays {name!r}" for name in (Counter(here) - Counter(there)).elements()),
    ]
