"""Rows of text as tables, and sizes, as the command line prints them."""

from __future__ import annotations

from collections.abc import Sequence


def in_bytes(number: float) -> str:
    """Return a size to three digits, such as 48.0 KB; a KB is 1,024 bytes."""
    units = ["bytes", "KB", "MB", "GB", "TB", "PB"]
    while number >= 1000 and len(units) > 1:
        number /= 1024
        units.pop(0)
    if units[0] == "bytes":
        return f"{number:.0f} bytes"
    return f"{number:.{max(0, 2 - len(str(int(number))) + 1)}f} {units[0]}"


def aligned(rows: Sequence[Sequence[str]], align: str = "", indent: int = 2) -> str:
    """Return rows as lines of columns; ``align`` has ``r`` for those that are set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [">" if side == "r" else "<" for side in align.ljust(len(widths), "l")]
    lines = (
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True))
        for row in rows
    )
    return "\n".join((" " * indent + line).rstrip() for line in lines)
