"""The file of a contest's results: JSON lines that only grow, so that a contest can be gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from territorial.league.contest import Contest
from territorial.league.record import GameRecord

KIND = "territorial contest, version "
FORMAT = f"{KIND}2"


class ResultsError(ValueError):
    """A file is not that of a contest, or of another one; the message says what is wrong with it."""


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
        """Keep every record that comes, in the file at once, and yield it."""
        if self.path is None:
            yield from map(self._keep, records)
            return
        with self.path.open("a", encoding="utf-8") as file:
            for record in records:
                file.write(record.to_json() + "\n")
                file.flush()
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
    different = [
        name for name in header if name not in ("library", "settings") and found.get(name) != header[name]
    ]
    if different:
        raise ResultsError(
            f"{str(path)!r} is of a contest with other {', '.join(different)}: "
            f"{str(found.get(different[0]))[:200]}, not {str(header[different[0]])[:200]}"
        )
