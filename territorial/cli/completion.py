"""``territorial --print-completion``: a script by which a shell completes verbs, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from territorial.cli.options import UsageError

SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "FILE_OR_LIVE")
FOLDERS = ("FOLDER", "RUN")
"""Names of arguments that are files, and folders."""


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
