"""The file of an evaluation: JSON lines that only grow, so that an evaluation can be resumed and extended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from territorial._version import __version__
from territorial.config.validation import shown
from territorial.constants import RULES_VERSION
from territorial.evaluation.players import identity_of
from territorial.evaluation.results import ResultsError, append
from territorial.evaluation.trials import TrialRecord, Tryout
from territorial.files.bounded import open_file, whole_lines
from territorial.files.strict_json import Bounds, parse_object

FORMAT = "territorial evaluation, version 1"
BOUNDS = Bounds(nbytes=4 * 2**20, values=2**17)
"""Of a line of the file."""


class TrialFile:
    """The records that there are, in memory and in a file that only grows."""

    def __init__(self, tryout: Tryout, path: Path | None) -> None:
        self._path = path
        self._records: dict[tuple[str, str, int], TrialRecord] = {}
        self._done: dict[tuple[str, str], set[int]] = {}
        self._header: dict[str, Any] = {
            "format": FORMAT,
            "rules": RULES_VERSION,
            "library": __version__,
            "seed": tryout.seed,
            "policies": {name: identity_of(policy) for name, policy in tryout.policies.items()},
            "settings": {name: setting.to_dict() for name, setting in tryout.settings.items()},
        }
        if path is not None:
            self._open(path)

    @property
    def records(self) -> Iterable[TrialRecord]:
        """The games that have been played, in no order."""
        return self._records.values()

    def episodes(self, pair: tuple[str, str]) -> set[int]:
        """Return which games of a policy in a setting have been played."""
        return self._done.get(pair, set())

    def keep(self, records: Iterable[TrialRecord]) -> None:
        """Keep the games that are new, in the file at once.

        Of a portion that was interrupted all are played again, as a game may depend on those beside it.
        """
        found = [one for one in records if one.episode not in self.episodes((one.policy, one.setting))]
        if self._path is not None:
            append(self._path, "".join(json.dumps(one.to_dict()) + "\n" for one in found))
        for one in found:
            self._remember(one)

    def _remember(self, one: TrialRecord) -> None:
        self._records[one.policy, one.setting, one.episode] = one
        self._done.setdefault((one.policy, one.setting), set()).add(one.episode)

    def _open(self, path: Path) -> None:
        header = self._take_over(path) if path.exists() else None
        if header is None or any(header[key] != self._header[key] for key in ("policies", "settings")):
            append(path, json.dumps(self._header) + "\n")

    def _take_over(self, path: Path) -> dict[str, Any] | None:
        """Keep the games in a file, cut a last line off that is not whole, and return the last header.

        None for a file that is empty.
        """
        header, size = None, 0
        try:
            with open_file(path) as file:
                for number, line in enumerate(whole_lines(file, BOUNDS.nbytes), start=1):
                    found = self._parsed(path, number, line)
                    if "format" in found:
                        header = self._check(path, found)
                    elif header is None:
                        break
                    else:
                        self._remember(self._record(path, number, found))
                    size += len(line)
        except ResultsError:
            raise
        except ValueError as error:
            raise ResultsError(f"{str(path)!r}: {error}") from None
        if header is None and path.stat().st_size:
            raise ResultsError(f"{str(path)!r} is not a file of an evaluation")
        if size < path.stat().st_size:
            os.truncate(path, size)
        return header

    @staticmethod
    def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
        try:
            return parse_object(line, BOUNDS)
        except ValueError as error:
            raise ResultsError(
                f"{str(path)!r}, line {number} is not a record of an evaluation: {error}"
            ) from None

    def _record(self, path: Path, number: int, line: dict[str, Any]) -> TrialRecord:
        try:
            record = TrialRecord.from_dict(line)
            if record.seed != self._header["seed"] + record.episode:
                raise ValueError(f"seed is {record.seed}, which is not the seed of episode {record.episode}")
        except (ValueError, TypeError) as error:
            raise ResultsError(f"{str(path)!r}, line {number}: {error}") from None
        return record

    def _check(self, path: Path, header: dict[str, Any]) -> dict[str, Any]:
        """Return a header; ResultsError if what has the same name here and there is not the same."""
        for key in ("format", "rules", "seed"):
            if header.get(key) != self._header[key]:
                raise ResultsError(
                    f"{str(path)!r} is of an evaluation with {key} {shown(header.get(key))}; here it is "
                    f"{self._header[key]!r}"
                )
        for key in ("policies", "settings"):
            there: Any = header.get(key)
            here: Any = self._header[key]
            if not isinstance(there, dict):
                raise ResultsError(f"{str(path)!r}: {key} is {shown(there)}; it must be an object with names")
            if changed := [name for name in there if name in here and there[name] != here[name]]:
                name = changed[0]
                raise ResultsError(
                    f"{str(path)!r} has {key}[{name!r}] = {shown(there[name])}; here it is {here[name]!r}"
                )
        return header
