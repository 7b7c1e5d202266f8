"""Digests that identify bots: weights, settings and code."""

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from territorial.bots import Program, PythonBot
from territorial.engine.seats import CompiledBot, CustomBot
from territorial.files.bounded import open_file


def code_of(bot: CustomBot) -> str:
    """Return a digest of the settings, weights or code of a bot, which tells it from its namesakes."""
    if isinstance(bot, CompiledBot):
        return bot.digest
    if isinstance(bot, Program):
        with open_file(bot.file) as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    kind = type(bot)
    return code_digest(f"{kind.__module__}:{kind.__name__}", kind)


def code_digest(text: str, loaded: Any) -> str:
    """Return 16 hex digits of the code of ``module:name``: its own and, for a bot, its bases'.

    The files in which it stands count, and not what they import from others. What was defined without a file,
    as in a notebook, counts as Python has compiled it, with all that it uses and that has no file either.
    """
    kinds = [kind for kind in getattr(loaded, "__mro__", ()) if issubclass(kind, PythonBot)]
    names = {text.partition(":")[0], loaded.__module__, *(kind.__module__ for kind in kinds)}
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(names - {PythonBot.__module__}):
        file = _file_of(name)
        digest.update(b"" if file is None else file.read_bytes())
    described = _CodeDescription()
    for kind in [loaded, *kinds]:
        if _has_no_file(kind):
            digest.update(repr(described.of(kind)).encode())
    return digest.hexdigest()


def _file_of(module: str) -> Path | None:
    """Return the file of a module; a module from stdin has none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file is not None and Path(file).is_file() else None


def _has_no_file(thing: Any) -> bool:
    """Return whether a class or function was defined in no file, and in no part of Python itself."""
    spec = getattr(sys.modules.get(thing.__module__), "__spec__", None)
    return _file_of(thing.__module__) is None and getattr(spec, "origin", None) not in ("built-in", "frozen")


class _CodeDescription:
    """Describes definitions without a file by texts and numbers, alike in every process."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Any]] = {}
        """The number of what was described, by its place in memory.

        It is kept with it, or something else might come to lie there.
        """

    def of(self, value: Any) -> Any:
        """Return the description of a value, or for one that was described before its number."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return value
        value = inspect.unwrap(value) if callable(value) else value  # a compiled function, such as numba's
        if id(value) in self._seen:
            return "again", self._seen[id(value)][0]
        self._seen[id(value)] = len(self._seen), value
        parts = next(parts for kind, parts in _PARTS.items() if isinstance(value, kind))
        return type(value).__name__, *map(self.of, parts(value))


def _parts_of_class(kind: type) -> list[Any]:
    """Return its name, and its bases and all that it has where it was defined without a file."""
    if not _has_no_file(kind):
        return [kind.__module__, kind.__qualname__]
    own = {
        name: part
        for name, part in vars(kind).items()
        if name != "_abc_impl" and (isinstance(part, FunctionType) or not name.startswith("__"))
    }
    return [kind.__qualname__, kind.__bases__, own]


def _parts_of_function(function: Any) -> list[Any]:
    if not _has_no_file(function):
        return [function.__module__, function.__qualname__]
    code, known = function.__code__, function.__globals__
    used = {name: known[name] for name in sorted(_names_in(code)) if name in known}
    cells = [_contents(cell) for cell in function.__closure__ or ()]
    return [code, function.__defaults__, function.__kwdefaults__, cells, used]


def _contents(cell: CellType) -> tuple[Any, ...]:
    """Return the value of a variable of an outer function; nothing if it has not been set."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _parts_of_array(array: np.ndarray) -> list[Any]:
    """Return its type, shape and objects, or a digest of its numbers, which may be many."""
    own = array.tolist() if array.dtype.hasobject else hashlib.blake2b(array.tobytes()).digest()
    return [array.dtype.str, array.shape, own]


def _names_in(code: CodeType) -> set[str]:
    """Return the names that code uses, and the code within it."""
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def _parts_of_object(value: Any) -> list[Any]:
    """Return its name, if any, where its class stands in a file; else its class and all that it has."""
    if _has_no_file(type(value)):
        return [type(value), vars(value)]
    return [getattr(value, "__module__", ""), getattr(value, "__qualname__", "")]


_PARTS: Mapping[Any, Callable[[Any], Any]] = {
    type: _parts_of_class,
    FunctionType: _parts_of_function,
    CodeType: attrgetter("co_code", "co_consts", "co_names", "co_varnames", "co_flags", "co_exceptiontable"),
    property: attrgetter("fget", "fset", "fdel"),
    (staticmethod, classmethod): lambda value: (value.__func__,),
    np.ndarray: _parts_of_array,
    (set, frozenset): lambda value: sorted(repr(_CodeDescription().of(one)) for one in value),  # in no order
    Mapping: lambda value: chain.from_iterable(value.items()),
    (list, tuple): iter,
    object: _parts_of_object,
}
