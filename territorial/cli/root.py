"""The parser of ``territorial`` itself: its help has the verbs in groups, and shells can complete them."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from territorial.cli.options import Parser, UsageError

INDENT = 14
"""Columns before the summary of a verb."""
OTHERS = "others"
"""The group of verbs of other packages."""
SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "FILE_OR_LIVE")
FOLDERS = ("FOLDER", "RUN")
"""Names of arguments that are files, and folders."""


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


class PrintCompletion(argparse.Action):
    """Prints the script of a shell, made by shtab, and ends; UsageError where shtab is not installed."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        """Print the script of the shell ``values``."""
        try:
            import shtab
        except ImportError:
            raise UsageError(
                "completion needs shtab: pip install 'territorial-env[completion]' (or '.[completion]' in "
                "the checkout)"
            ) from None
        _mark_files(parser, shtab)
        print(shtab.complete(parser, shell=values))
        parser.exit()


def _mark_files(parser: argparse.ArgumentParser, shtab: Any) -> None:
    """Tell shtab which arguments are files and folders, by their names."""
    for action in parser._actions:  # there is no public way to them, and shtab reads them as well
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                _mark_files(one, shtab)
        elif action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]


def add_unavailable(verbs: Any, name: str, where: str, error: Exception) -> None:
    """Add a verb that takes any arguments and fails with the reason why it is not there."""
    reason = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
    summary = f"not available: {reason}".replace("%", "%%")
    # No argument begins with NUL, so all of them are taken, --help among them.
    parser = verbs.add_parser(name, help=summary, description=summary, prefix_chars="\0", add_help=False)
    parser.add_argument("arguments", nargs="*")
    parser.set_defaults(run=partial(_fail, f"{name} ({where}) cannot be loaded: {reason}"))


def _fail(text: str, _: argparse.Namespace) -> int:
    raise UsageError(text)
