"""How long the rest of some work will take, in words, for lines of progress."""

from __future__ import annotations

_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"))
_FROM = 2
"""The least number of a unit: 119 s, but 2 min."""
_MOST_DAYS = 999


def time_left(done: int, missing: int, seconds: float) -> str:
    """Return such as "5 h left" for ``missing``, if ``done`` took ``seconds``; "" while it is unknown."""
    if done <= 0 or seconds <= 0:
        return ""
    left = seconds / done * missing
    size, name = next(((size, name) for size, name in _UNITS if left >= _FROM * size), (1, "s"))
    number = round(left / size)
    is_long = name == "days" and number > _MOST_DAYS
    return f"more than {_MOST_DAYS} days left" if is_long else f"{number} {name} left"
