"""Reads the sections of a docstring that describe arguments; maintainers/docstrings.py does so, too."""

from __future__ import annotations

import inspect
import re

ENTRY = re.compile(r"    (\w+): ?(.*)")


def section(docstring: str, title: str) -> list[tuple[str, str]]:
    """Return the names and texts of a section such as "Args", in their order; none if it is not there."""
    lines = inspect.cleandoc(docstring).splitlines()
    if f"{title}:" not in lines:
        return []
    entries: list[tuple[str, str]] = []
    for line in lines[lines.index(f"{title}:") + 1 :]:
        if line and not line.startswith("    "):
            break
        entry = ENTRY.fullmatch(line)
        if entry:
            entries.append((entry[1], entry[2]))
        elif line.strip():
            name, text = entries[-1]
            entries[-1] = name, f"{text} {line.strip()}".strip()
    return entries
