"""The help of ``territorial`` itself: its verbs in groups, a line or two each."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Collection, Mapping

from territorial.cli.options import Parser

INDENT = 14
"""Columns before the summary of a verb."""
OTHERS = "others"
"""The group of verbs of other packages."""


class RootParser(Parser):
    """The parser of the command line, whose help lists verbs by ``groups``; ``verbs`` are their parsers."""

    groups: Mapping[str, Collection[str]] = {}
    verbs: Mapping[str, argparse.ArgumentParser] = {}

    def format_help(self) -> str:
        """Return the help: usage, groups of verbs, options and examples."""
        width = min(shutil.get_terminal_size().columns - 2, 100)
        grouped = {name for names in self.groups.values() for name in names}
        others = {OTHERS: [name for name in self.verbs if name not in grouped]}
        parts = [self.format_usage(), f"{self.description}\n"]
        for title, names in {**self.groups, **others}.items():
            lines = [self._line(name, width) for name in names if name in self.verbs]
            if lines:
                parts.append("\n".join([f"{title}:", *lines, ""]))
        options = (
            ("-h, --help", "show this help and exit"),
            ("--version", "show the version and exit"),
            ("--print-completion SHELL", "print a script by which bash, zsh or fish completes all this"),
        )
        parts.append("\n".join(["options:", *(_row(*one, width) for one in options), ""]))
        return "\n".join([*parts, f"{self.epilog}"]).rstrip() + "\n"

    def _line(self, name: str, width: int) -> str:
        """Return a verb with its summary, which its own help has as a sentence."""
        text = " ".join((self.verbs[name].description or "").split()).removesuffix(".")
        return _row(name, text[:1].lower() + text[1:], width)


def _row(name: str, text: str, width: int) -> str:
    first, rest = f"  {name:{INDENT - 4}}  ", " " * INDENT
    return textwrap.fill(text, max(width, 40), initial_indent=first, subsequent_indent=rest)
