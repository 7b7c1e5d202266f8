"""Logs that a resumed run continues: they are cut back to what was written before its checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from territorial.files.bounded import open_file, whole_lines

LONGEST_LINE = 2**20


def cut_back(path: Path, is_kept: Callable[[int, bytes], bool], most: int | None = None) -> None:
    """Cut the file ``path`` off at the first line that is cut short, is not kept or exceeds ``most`` bytes.

    ``is_kept(number, line)`` is asked about each line, by its number from 1 on.
    """
    size = 0
    with open_file(path) as file:
        for number, line in enumerate(whole_lines(file, LONGEST_LINE), start=1):
            if (most is not None and size + len(line) > most) or not is_kept(number, line):
                break
            size += len(line)
    if size < path.stat().st_size:
        os.truncate(path, size)
