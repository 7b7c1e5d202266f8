"""What is asked of single arguments everywhere: that they are whole numbers of a range, or True or False."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int from ``low`` to ``high``, or without an upper end.

    TypeError for what is no whole number, True and False included, ValueError for what is out of range.
    """
    wanted = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be {wanted}") from None
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; it must be {wanted}")
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} is {number}; it must be {wanted}")
    return number


def true_or_false(name: str, value: Any) -> bool:
    """Return ``value`` as a bool; TypeError unless it is one, of Python's or of numpy's."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; it must be True or False")
    return bool(value)
