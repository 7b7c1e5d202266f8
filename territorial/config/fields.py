"""Options as dataclass fields, with meaning, range and checks."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, field, fields
from inspect import Parameter, cleandoc, signature
from typing import Any, TypeVar

from territorial.config.validation import (
    Function,
    finite_number,
    one_of,
    suggests_keywords,
    true_or_false,
    whole_number,
)

Class = TypeVar("Class", bound=type)


def about(meaning: str, low: float | None = None, high: float | None = None, **more: Any) -> dict[str, Any]:
    """Return the metadata of a field: its meaning, and the range of a number.

    ``more``: ``choices``, the texts that it may be; ``none``, what None means.
    """
    limits = {} if low is None else {"low": low, "high": high}
    return {"help": meaning, **limits, **more}


def option(default: Any, *arguments: Any, **more: Any) -> Any:
    """Return a field with a default, and with the metadata of :func:`about`."""
    return field(default=default, metadata=about(*arguments, **more))


def like(spec: Field[Any], default: Any) -> Any:
    """Return a field with the meaning and range of another one, and a default of its own."""
    return field(default=default, metadata=spec.metadata)


def describe(spec: Field[Any]) -> str:
    """Return the meaning and the range of an option.

    The command line, ``territorial info`` and the docstrings of dataclasses show it.
    """
    meaning, low, high = (spec.metadata.get(key) for key in ("help", "low", "high"))
    if low is None:
        return str(meaning)
    if high is None:
        return f"{meaning}; at least {low}"
    return f"{meaning}; {low} to {'2**64 - 1' if high == 2**64 - 1 else high}"


def check_values(options: Any) -> None:
    """Check numbers, texts with choices, True and False of a dataclass, and make them values of Python.

    TypeError or ValueError names the field, its value and what it may be.
    """
    for spec in fields(options):
        value = getattr(options, spec.name)
        if value is not None or spec.default is not None:
            object.__setattr__(options, spec.name, _checked(spec, value))


def _checked(spec: Field[Any], value: Any) -> Any:
    if isinstance(spec.default, bool):
        return true_or_false(spec.name, value)
    if "choices" in spec.metadata:
        return one_of(spec.name, value, spec.metadata["choices"])
    if "low" in spec.metadata:
        check = finite_number if isinstance(spec.default, float) else whole_number
        return check(spec.name, value, spec.metadata["low"], spec.metadata["high"])
    return value


def documents_fields(options: Class) -> Class:
    """Add the meaning, the range and the default of every field to the docstring of a dataclass."""
    if options.__doc__:  # python -OO leaves none
        entries = [f"{spec.name}: {describe(spec)}{_default(spec)}." for spec in fields(options)]
        wrapped = [
            textwrap.fill(one, 100, initial_indent=" " * 4, subsequent_indent=" " * 8) for one in entries
        ]
        options.__doc__ = "\n".join([cleandoc(options.__doc__), "", "Args:", *wrapped])
    return options


def _default(spec: Field[Any]) -> str:
    """Return the default of a field as code, with the meaning of None; nothing if it has none."""
    if spec.default is MISSING:
        return ""
    meaning = f": {spec.metadata['none']}" if spec.default is None else ""
    return f"; default {spec.default!r}{meaning}".replace("'", '"')


def takes_keywords_of(
    *sources: Callable[..., Any], but: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Give a function with ``**keywords`` the keywords of others, without ``but``, as its signature.

    So ``help`` and the completion of notebooks list them with their defaults, and errors know them.
    """

    def taking(function: Function) -> Function:
        plain = signature(function)
        own = [one for one in plain.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        taken = {*but, *plain.parameters}
        others = [
            one.replace(kind=Parameter.KEYWORD_ONLY)
            for source in sources
            for one in signature(source).parameters.values()
            if one.name not in taken
        ]
        shown = plain.replace(parameters=[*own, *others])
        function.__signature__ = shown  # type: ignore[attr-defined]  # inspect reads it
        return suggests_keywords(function)

    return taking
