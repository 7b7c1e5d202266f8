"""Options as fields of dataclasses: each says what it means and may be, and all else follows from that."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import Field, field, fields
from inspect import Parameter, cleandoc, signature
from typing import Any, TypeVar

from territorial.config.validation import Function, suggests_keywords, whole_number

Class = TypeVar("Class", bound=type)


def option(default: Any, meaning: str, low: int | None = None, high: int | None = None, **more: Any) -> Any:
    """Return a field with its meaning, the range of a whole number, and in ``more`` what None means."""
    limits = {} if low is None else {"low": low, "high": high}
    return field(default=default, metadata={"help": meaning, **limits, **more})


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


def check_numbers(options: Any) -> None:
    """Make ints of the whole numbers of a dataclass; errors name the option and its range."""
    for spec in fields(options):
        value = getattr(options, spec.name)
        if "low" in spec.metadata and (value is not None or spec.default is not None):
            number = whole_number(spec.name, value, spec.metadata["low"], spec.metadata["high"])
            object.__setattr__(options, spec.name, number)


def documents_fields(options: Class) -> Class:
    """Add the meaning, the range and the default of every field to the docstring of a dataclass."""
    if options.__doc__:  # python -OO leaves none
        entries = [f"{spec.name}: {describe(spec)}; default {_default(spec)}." for spec in fields(options)]
        wrapped = [
            textwrap.fill(one, 100, initial_indent=" " * 4, subsequent_indent=" " * 8) for one in entries
        ]
        options.__doc__ = "\n".join([cleandoc(options.__doc__), "", "Args:", *wrapped])
    return options


def takes_keywords_of(
    *sources: Callable[..., Any], but: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Let a function with ``**keywords`` have those of others, ``but`` some, in its signature, and no more.

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


def _default(spec: Field[Any]) -> str:
    """Return a default as code, and of None also what it means."""
    if spec.default is None:
        return f"None: {spec.metadata['none']}"
    return repr(spec.default).replace("'", '"')
