"""The file of games that were played: JSON lines that only grow, so that playing them can be resumed."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from territorial.config.validation import shown
from territorial.evaluation.record import GameRecord, bounds_of
from territorial.evaluation.schedule import Key, Schedule
from territorial.files.bounded import Bounds, differences, open_file, parse_object, whole_lines

FORMAT = "territorial games, version 1"
KIND = b'{"format": "territorial games, version '
"""How a file begins, of any version."""
LINE_BOUNDS = Bounds(nbytes=4 * 2**20, values=2**17)
"""Of a line, at least; long games may need more."""
COMPARED = ("rules", "seed", "code", "settings")
"""What the first line of a file and a schedule must agree on, as far as both have it."""
SHOWN = 5
"""Differences from other games that are named."""


class ResultsError(ValueError):
    """A file is not one of games, or of other games, or full; the message says what is wrong with it."""


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
        """All that have been played, by policy, setting and number."""
        self._header = json.loads(json.dumps({"format": FORMAT, **schedule.to_dict()}))
        longest = bounds_of(max(setting.config.max_ticks for setting in schedule.settings.values()))
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
            try:
                last, size = self._take_over(path)
            except ValueError as error:
                raise ResultsError(f"{str(path)!r}, {error}") from None
            if last is None:
                with open_file(path) as file:
                    if not text.encode().startswith(file.read(len(text) + 1)):
                        raise ResultsError(f"{str(path)!r} is not a file of games")
            if size < path.stat().st_size:
                os.truncate(path, size)
        if last is None or any(last[name] != self._header[name] for name in ("code", "settings")):
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
                try:
                    found = parse_object(line, self._bounds)
                    if "format" in found:
                        last = self._checked_header(found)
                    else:
                        record = self._checked_record(found)
                        self.games.setdefault(record.key, record)
                except ValueError as error:
                    raise ValueError(f"line {number}: {error}") from None
                size += len(line)
        return last, size

    def _checked_record(self, values: dict[str, Any]) -> GameRecord:
        record = GameRecord.from_dict(values)
        if record.seed != self.schedule.seed + record.game:
            raise ValueError(f"seed is {record.seed}, which is not the seed of game {record.game}")
        if record.setting in self.schedule.settings and not record.is_of(self.schedule.fixture(*record.key)):
            raise ValueError(f"game {record.game} has other seats than its setting says")
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
            raise ValueError(f"it is of other games: {'; '.join(different[:SHOWN])}{more}")
        return found


def append(path: Path, lines: str) -> None:
    """Add lines to the end of a file; ResultsError if they cannot be written."""
    try:
        with path.open("ab") as file:
            file.write(lines.encode())
    except OSError as error:
        raise ResultsError(f"{str(path)!r} cannot be written: {error.strerror}") from None
