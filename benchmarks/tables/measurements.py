"""The table of all results on file: the command of each, its machine, and the day of its revision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from benchmarks import suite
from benchmarks.tables.results import RESULTS, load
from territorial.cli.obs_tables import markdown


def measurements() -> str:
    """Return the table, by the names of the results."""
    commands, rows = defaultdict(list), []
    for step in chain(*suite.read().values()):
        commands[step.result].append(f"`{step.run}`")
    for path in sorted(RESULTS.glob("*.json")):
        parts = list(_parts(load(path.stem)))
        cpus = dict.fromkeys(part["machine"]["cpu"] for part in parts)
        days = dict.fromkeys(part["revision"].get("date", "not on file") for part in parts)
        rows.append((f"`{path.stem}`", ", ".join(commands[path.stem]), ", ".join(cpus), ", ".join(days)))
    return markdown(("result", "command", "machine", "day"), rows, "llll")


def _parts(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what has a stamp of its own: a result, or each of its parts."""
    yield from [result] if "revision" in result else result.values()
