"""The parser of ``territorial`` itself: its help has the verbs in groups, and shells can complete them."""

import argparse
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from territorial.cli.options import Parser, UsageError

OTHERS = "others"
"""The group of verbs of other packages."""
SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "FILE_OR_LIVE")
FOLDERS = ("FOLDER", "RUN")
"""Names of arguments that are files, and folders."""


class RootParser(Parser):
    """The parser of the command line, whose help lists verbs by ``groups``; ``verbs`` has their parsers."""

    groups: Mapping[str, Collection[str]] = {}
    verbs: Any = None

    def format_help(self) -> str:
        """Return the help: usage, groups of verbs, options and examples."""
        summaries = {action.dest: action for action in self.verbs._choices_actions}
        grouped = {name for names in self.groups.values() for name in names}
        others = [name for name in summaries if name not in grouped]
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, names in {**self.groups, OTHERS: others}.items():
            formatter.start_section(title)
            formatter.add_arguments([summaries[name] for name in names if name in summaries])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments(self._optionals._group_actions)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


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
