"""Files that may be damaged or forged: never read beyond a bound, and never waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BufferedReader
from itertools import count
from typing import BinaryIO


def read_file(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the content of a file of at most ``most`` bytes; ValueError for a longer one."""
    with open_file(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it has more than {most:,} bytes, which is the limit")
    return data


def open_file(path: str | os.PathLike[str]) -> BufferedReader:
    """Open an ordinary file; ValueError for pipes and devices, which may be endless or never answer."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)!r} is not a regular file")
    return open(path, "rb")  # it is the caller's


def whole_lines(file: BinaryIO, most: int, first: int = 1) -> Iterator[bytes]:
    """Yield the lines of a file with their ends, up to a last one that is cut short.

    ValueError for a line of more than ``most`` bytes, by its number; ``first`` is that of the next line.
    """
    for number in count(first):
        line = file.readline(most + 1)
        if len(line) > most:
            raise ValueError(f"line {number} has more than {most:,} bytes, which is the limit")
        if not line.endswith(b"\n"):
            return
        yield line
