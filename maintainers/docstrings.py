#!/usr/bin/env python3
"""Writes what public functions and classes say of their arguments into their docstrings, where editors look.

    PYTHONPATH=. python maintainers/docstrings.py            write them
    PYTHONPATH=. python maintainers/docstrings.py --check    exit code 1 if that would change a file

An option is described once: in the metadata of its field, in ``GameConfig`` or ``EnvOptions``, or else in the
docstring of the class that a function makes. The other docstrings repeat it. Docstrings are text in
the source, because editors show only that, and because an import then builds nothing.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from territorial import GameConfig, TerritorialEnv, TerritorialVec, make_vec, parallel_env
from territorial.config import describe
from territorial.envs.options import EnvOptions
from tests.docstrings import section

WIDTH = 110
FIELDS = (GameConfig, EnvOptions)
"""Classes whose fields have metadata."""
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


class Target(NamedTuple):
    """A docstring, and where the entries of one of its sections come from."""

    owner: Callable[..., Any]
    sources: Sequence[type]
    """Classes; the first that has an entry counts. What none has is written by hand and stays."""
    title: str = "Args"


TARGETS = (
    Target(GameConfig, [GameConfig]),
    Target(EnvOptions, [EnvOptions]),
    Target(TerritorialEnv, [EnvOptions]),
    Target(parallel_env, [EnvOptions, GameConfig, TerritorialEnv]),
    Target(make_vec, [GameConfig, TerritorialVec]),
    Target(make_vec, [EnvOptions], "Keyword Args"),
)
"""In this order: sources before those who repeat them."""


def main(arguments: Sequence[str]) -> int:
    """Write or check all targets; return the exit code."""
    changed = [target for target in TARGETS if renew(target, write="--check" not in arguments)]
    for owner, _, title in changed:
        print(f"{owner.__module__}.{owner.__qualname__}: {title}")
    return int(bool(changed) and "--check" in arguments)


def renew(target: Target, *, write: bool) -> bool:
    """Return whether a section of a docstring is not what its sources say; if ``write``, put that right."""
    source = Source(target.owner)
    new = [line for entry in entries_of(target) for line in wrapped(*entry, source.margin + 4)]
    first, last = source.place(target.title)
    is_changed = source.lines[first:last] != new
    if is_changed and write:
        source.lines[first:last] = new
        source.path.write_text("\n".join(source.lines) + "\n", encoding="utf-8")
    return is_changed


def entries_of(target: Target) -> list[tuple[str, str]]:
    """Return the name and the text of every argument; KeyError for one that nothing describes."""
    if target.title == "Args":
        defaults = {one.name: one.default for one in inspect.signature(target.owner).parameters.values()}
    else:  # what arguments without a name of their own may be
        defaults = {spec.name: spec.default for spec in dataclasses.fields(target.sources[0])}
    texts = [texts_of(source, defaults) for source in target.sources if source is not target.owner]
    own = texts_of(target.owner, defaults) if target.owner in FIELDS else Source(target.owner).entries("Args")
    known = dict(ChainMap(*texts, own))
    return [(name, known[name]) for name in defaults]


def texts_of(source: type, defaults: Mapping[str, Any]) -> dict[str, str]:
    """Return what a class says of arguments that have these defaults elsewhere."""
    if source not in FIELDS:
        return Source(source).entries("Args")
    return {
        spec.name: f"{describe(spec)}; default {default_text(defaults[spec.name], spec)}."
        for spec in dataclasses.fields(source)
        if spec.name in defaults
    }


def default_text(default: Any, spec: dataclasses.Field[Any]) -> str:
    """Return a default as code; of None also what it means."""
    if default is None:
        meaning = spec.metadata.get("none", f"that of ``config``, or {spec.default}")
        return f"None: {meaning}"
    return repr(default).replace("'", '"')


class Source:
    """The docstring of a function or class in its file, which may be newer than what was imported."""

    def __init__(self, owner: Callable[..., Any]) -> None:
        self.path = Path(str(inspect.getsourcefile(inspect.unwrap(owner))))
        self.lines = self.path.read_text(encoding="utf-8").splitlines()
        body = ast.parse("\n".join(self.lines)).body
        node = next(one for one in body if isinstance(one, DEFINITIONS) and one.name == owner.__name__)
        docstring = node.body[0]
        self.text = ast.get_docstring(node) or ""
        self.margin = docstring.col_offset
        self._begin, self._end = docstring.lineno, docstring.end_lineno or 0

    def entries(self, title: str) -> dict[str, str]:
        """Return the texts of a section by the names of arguments."""
        return dict(section(self.text, title))

    def place(self, title: str) -> tuple[int, int]:
        """Return where the entries of a section stand: the first line, and the one after the last."""
        first = self.lines.index(" " * self.margin + f"{title}:", self._begin, self._end) + 1
        within = " " * (self.margin + 4)
        rest = enumerate(self.lines[first : self._end - 1], start=first)
        inside = takewhile(lambda one: not one[1].strip() or one[1].startswith(within), rest)
        return first, max((number + 1 for number, line in inside if line.strip()), default=first)


def wrapped(name: str, text: str, indent: int) -> list[str]:
    """Return the lines of one entry."""
    return textwrap.wrap(
        f"{name}: {text}",
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
