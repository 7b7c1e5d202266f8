"""Checks of what a style is given: whole numbers, pairs of them, names, and parts of a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from territorial.config.validation import shown, true_or_false, whole_number, whole_or_none

Range = int | tuple[int, int]
"""A number, or the lowest and the highest of those that a seat may draw."""

MOST_TICKS = 10_000_000
"""From one decision of a bot to the next, and in an opening."""
LONGEST_NAME = 64
_TEXT = 1000


def normalize(part: Any, ends: Mapping[str, tuple[int, int]], flags: tuple[str, ...] = ()) -> None:
    """Replace the fields of a frozen ``part`` by whole numbers, pairs and flags of Python; errors name one.

    ``ends``: the lowest and the highest value by the names of the fields that may be pairs.
    """
    kind = type(part).__name__
    for name, (low, high) in ends.items():
        value = getattr(part, name)
        object.__setattr__(part, name, checked_range(f"{kind}.{name}", value, low, high))
    for name in flags:
        object.__setattr__(part, name, true_or_false(f"{kind}.{name}", getattr(part, name)))


def checked_range(name: str, value: Any, low: int, high: int) -> Range:
    """Return ``value`` as an int or a pair of ints; TypeError or ValueError says what is wrong with it."""
    wanted = f"a whole number from {low} to {high}, or a pair (lowest, highest) of them"
    if not isinstance(value, (tuple, list)):
        if whole_or_none(value) is None:
            raise TypeError(f"{name} is {shown(value)}; it must be {wanted}")
        return whole_number(name, value, low, high)
    if len(value) != 2:
        raise ValueError(f"{name} is {shown(value)}; it must be {wanted}")
    lowest, highest = (whole_number(f"{name}[{i}]", end, low, high) for i, end in enumerate(value))
    if lowest > highest:
        raise ValueError(
            f"{name} is ({lowest}, {highest}); the lowest must come first: ({highest}, {lowest})"
        )
    return lowest, highest


def check_name(what: str, name: Any) -> None:
    """Raise ValueError unless a bot can be called ``name``; ``what`` is the bot."""
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(
            f"{what} has the name {shown(name)}; it must be a string of 1 to {LONGEST_NAME} characters"
        )


def check_text(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless ``value`` is a text for people to read."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}; it must be a string")
    if len(value) > _TEXT:
        raise ValueError(f"{name} has {len(value):,} characters; it must have at most {_TEXT:,}")


def check_part(name: str, value: Any, kind: type) -> None:
    """Raise TypeError unless ``value`` is None or of the ``kind``."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name} is {shown(value)}; it must be a territorial.bots.{kind.__name__}, or None")
