"""Bounded reading of files that may be damaged or forged."""

import dataclasses
import json
import math
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from io import BufferedReader
from itertools import count
from typing import Any, BinaryIO, NamedTuple, TypeVar

from territorial.config.validation import check_type, shown

Kind = TypeVar("Kind")


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


def whole_lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Yield the lines of a file with their ends, up to a last one that is cut short.

    ValueError for a line of more than ``most`` bytes, by its number.
    """
    for number in count(1):
        line = file.readline(most + 1)
        if len(line) > most:
            raise ValueError(f"line {number} has more than {most:,} bytes, which is the limit")
        if not line.endswith(b"\n"):
            return
        yield line


MAX_DEPTH = 32
"""Lists and objects within one another."""


class Bounds(NamedTuple):
    """Bounds on the size of a text, which bound its memory after parsing."""

    nbytes: int
    values: int
    """Numbers, texts, lists and so on; some 100 bytes each."""


def parse(text: bytes, bounds: Bounds) -> Any:
    """Return the value that a JSON text in UTF-8 stands for; ValueError says why it is none.

    NaN and infinite numbers, names that stand twice in an object, and texts beyond ``bounds`` are refused;
    the latter before anything is made of them.
    """
    check_size(text, bounds)
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_finite,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueError(f"it has lists or objects nested more than {MAX_DEPTH} deep") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    _check_depth(value)
    return value


def parse_object(text: bytes, bounds: Bounds) -> dict[str, Any]:
    """Return the fields of a JSON object; see :func:`parse`."""
    value = parse(text, bounds)
    if not isinstance(value, dict):
        raise ValueError(f"it is {shown(value)}; it must be a JSON object")
    return value


def fits(text: bytes, bounds: Bounds) -> bool:
    """Return whether a text is within ``bounds``, so that :func:`parse` reads it."""
    try:
        check_size(text, bounds)
    except ValueError:
        return False
    return True


def check_size(text: bytes, bounds: Bounds) -> None:
    """Raise ValueError for a text beyond ``bounds``, without reading it as JSON."""
    if len(text) > bounds.nbytes:
        raise ValueError(f"it has {len(text):,} bytes; it must have at most {bounds.nbytes:,}")
    # Every value but the first comes after one of these; those within strings are counted too.
    values = 1 + sum(text.count(mark) for mark in (b",", b"[", b"{"))
    if values > bounds.values:
        raise ValueError(f"it has up to {values:,} values; it must have at most {bounds.values:,}")


def check_fields(what: str, values: Any, needed: Collection[str], optional: Collection[str] = ()) -> None:
    """Raise TypeError for a value without names, ValueError unless it has exactly the needed ones."""
    check_type(what, values, Mapping, "a mapping of fields")
    wanted = sorted({*needed, *optional})
    if wrong := [name for name in sorted(needed) if name not in values]:
        raise ValueError(f"{what} has no {wrong[0]!r}; it must have the fields {', '.join(wanted)}")
    if wrong := [name for name in values if name not in wanted]:
        raise ValueError(
            f"{what} has the field {shown(wrong[0])}; it must have only the fields {', '.join(wanted)}"
        )


def made_of(
    kind: type[Kind], what: str, values: Mapping[str, Any], needed: Collection[str] | None = None
) -> Kind:
    """Return the object of a dataclass with these fields, of which all are ``needed`` by default.

    ValueError and TypeError say ``what`` it was to be.
    """
    names = {spec.name for spec in dataclasses.fields(kind)}  # type: ignore[arg-type]  # it is a dataclass
    check_fields(what, values, names if needed is None else needed, names)
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {shown(name)} occurs twice in an object")
        found[sys.intern(name)] = value  # objects that are kept by the thousand share their names
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it has the number {shown(text)}; numbers must be finite")
    return number


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH + 1):
        parts = (part for one in level for part in (one.values() if isinstance(one, dict) else one))
        level = [part for part in parts if isinstance(part, (dict, list))]
        if not level:
            return
    raise ValueError(f"it has lists or objects nested more than {MAX_DEPTH} deep")


def differences(what: str, there: Any, here: Any) -> Iterator[str]:
    """Yield the places where two values differ; a part that only one of them has is no difference."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for name in here:
            if name in there:
                yield from differences(f"{what}[{name!r}]", there[name], here[name])
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for i, (old, new) in enumerate(zip(there, here, strict=True)):
            yield from differences(f"{what}[{i}]", old, new)
    elif there != here:
        yield f"its {what} is {shown(there)}, here it is {shown(here)}"
