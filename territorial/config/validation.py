"""Checks of arguments: whole numbers of a range, booleans, known names."""

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from reprlib import Repr
from types import UnionType
from typing import Any, TypeVar, cast

import numpy as np

from territorial.typing import Ints

Function = TypeVar("Function", bound=Callable[..., Any])

_DIGITS = re.compile("[0-9]+(_[0-9]+)*")
_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = 100


def shown(value: object) -> str:
    """Return ``repr(value)`` for an error, shortened because the value may be a whole file."""
    if isinstance(value, np.ndarray) and value.size > 8:  # too many to read
        return f"an array of {value.dtype}, shape {value.shape}"
    text = _short.repr(value)
    return text if len(text) <= 300 else f"{text[:300]} ..."


def whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int from ``low`` to ``high``, or without an upper end.

    TypeError for what is no whole number, True and False included, ValueError for what is out of range.
    """
    wanted = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    number = whole_or_none(value)
    if number is None:
        raise TypeError(f"{name} is {shown(value)}; it must be {wanted}")
    if not _lies_in(number, low, high):
        raise ValueError(f"{name} is {shown(number)}; it must be {wanted}")
    return number


def whole_or_none(value: Any) -> int | None:
    """Return the whole number that ``value`` is; None if it is none, as True and False are none here."""
    if isinstance(value, (bool, np.bool_)):  # indices to Python, and to numpy 2.0
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def is_whole_number(value: Any, low: int, high: int | None = None) -> bool:
    """Return whether ``whole_number`` accepts ``value``, for callers with a message of their own."""
    number = whole_or_none(value)
    return number is not None and _lies_in(number, low, high)


def whole_number_in(text: str, low: int, high: int) -> int | None:
    """Return the whole number from ``low`` to ``high`` that a text has in digits, or None."""
    digits = text.strip()
    is_number = len(digits) <= 40 and _DIGITS.fullmatch(digits) is not None  # no number here has more
    return int(digits) if is_number and low <= int(digits) <= high else None


def holds_whole_numbers(array: np.ndarray[Any, Any]) -> bool:
    """Return whether the entries of an array are whole numbers; True and False are none."""
    return array.dtype.kind in "iu"


def whole_numbers(name: str, given: Any, shape: tuple[int | None, ...], low: Any, high: Any) -> Ints:
    """Return an array of whole numbers as a new int64 in C order; None in ``shape`` is any length.

    ``low`` and ``high`` are numbers, or arrays of a bound for each column. TypeError for other numbers,
    ValueError for another shape and for an entry out of range, which it names.
    """
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name} is {shown(given)}; its rows must have one length") from None
    instead = "" if isinstance(given, np.ndarray) else f", not {shown(given)}"
    lengths = zip(shape, array.shape, strict=False)
    if array.ndim != len(shape) or any(wanted not in (None, length) for wanted, length in lengths):
        wanted = str(shape).replace("None", "N")
        raise ValueError(f"{name} has shape {array.shape}; it must be {wanted}{instead}")
    is_list = isinstance(given, (list, tuple)) and array.ndim == 1
    if array.size and (None in map(whole_or_none, given) if is_list else not holds_whole_numbers(array)):
        raise TypeError(f"{name} has dtype {array.dtype}; it must hold whole numbers{instead}")
    is_outside = (array < low) | (array > high)
    if is_outside.any():
        place = np.argwhere(is_outside)[0].tolist()
        found, least, most = (np.broadcast_to(part, array.shape)[*place] for part in (array, low, high))
        raise ValueError(f"{name}{place} is {found}; it must be from {least} to {most}")
    return np.array(array, np.int64, order="C")


def check_type(name: str, value: object, kind: type | UnionType | tuple[type, ...], wanted: str) -> None:
    """Raise TypeError unless ``value`` is of this ``kind``, which the error calls ``wanted``."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {shown(value)}; it must be {wanted}")


def true_or_false(name: str, value: Any) -> bool:
    """Return ``value`` as a bool; TypeError unless it is one, of Python's or of numpy's."""
    check_type(name, value, (bool, np.bool_), "True or False")
    return bool(value)


def finite_number(name: str, value: Any, low: float = -math.inf, high: float | None = None) -> float:
    """Return ``value`` as a float from ``low`` to ``high``; an end that is infinite or None is none.

    TypeError for what is no number, True and False included, ValueError for NaN and what is out of range.
    """
    high = math.inf if high is None else high
    ends = f" from {low:g}" * (low > -math.inf) + f" to {high:g}" * (high < math.inf)
    wanted = f"a finite number{ends}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} is {shown(value)}; it must be {wanted}")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    if not (math.isfinite(number) and low <= number <= high):
        raise ValueError(f"{name} is {shown(value)}; it must be {wanted}")
    return number


def checked_list(name: str, value: Any, kind: type = object, *, most: int | None = None) -> tuple[Any, ...]:
    """Return the entries of ``value``; TypeError unless it is a list or the like of entries of a ``kind``.

    ValueError for more than ``most`` entries.
    """
    if isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} is {shown(value)}; it must be a list")
    entries = tuple(value)
    if most is not None and len(entries) > most:
        raise ValueError(f"{name} has {len(entries):,} entries; it must have at most {most:,}")
    for i, entry in enumerate(entries):
        check_type(f"{name}[{i}]", entry, kind, f"of the type {kind.__name__}")
    return entries


@contextmanager
def raised_as(
    kind: type[Exception], start: str, caught: type[Exception] | tuple[type[Exception], ...] = ValueError
) -> Iterator[None]:
    """Within the block, raise ``caught`` errors as a ``kind``, the message of which begins with ``start``."""
    try:
        yield
    except caught as error:
        raise kind(f"{start}{error}") from None


def index_of(value: Any) -> int | None:
    """Return the whole number that ``value`` is, or that an array or tensor of size 1 holds; None if none."""
    number = whole_or_none(value)
    if number is not None or not hasattr(value, "__array__"):
        return number
    array = np.asarray(value)
    return int(array.item()) if array.size == 1 and holds_whole_numbers(array) else None


def hint(given: object, known: Iterable[object]) -> str:
    """Return " (did you mean 'x'?)" with the name x of ``known`` that is most like ``given``, or nothing."""
    names = {_plain(name): name for name in known if isinstance(name, str)}
    close = get_close_matches(_plain(given), names, n=1, cutoff=0.7)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return ``value``; ValueError unless it is one of the texts ``choices``."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        meant = hint(value, known)
        raise ValueError(f"{name} is {shown(value)}{meant}; it must be one of {', '.join(known)}")
    return value


def check_keywords(callee: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise the TypeError that Python would for the first of ``given`` that is none of ``known``.

    Trainers look for its words. What was meant, or all that there are, comes after them.
    """
    names = list(known)
    for keyword in given:
        if keyword not in names:
            meant = hint(keyword, names) or f"; it takes {', '.join(names)}"
            raise TypeError(f"{callee}() got an unexpected keyword argument {keyword!r}{meant}")


def suggests_keywords(function: Function) -> Function:
    """Let a function with named keywords suggest the nearest one for an unknown keyword."""
    known = [name for name in signature(function).parameters if name != "self"]

    @wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        check_keywords(function.__qualname__, keywords, known)
        return function(*arguments, **keywords)

    return cast(Function, checked)


def _lies_in(number: int, low: int, high: int | None) -> bool:
    return number >= low and (high is None or number <= high)


def _plain(name: object) -> str:
    return str(name)[:100].lower().replace("-", "_")  # what is compared may come from a file
