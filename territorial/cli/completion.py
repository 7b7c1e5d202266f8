"""``territorial completion``: a script by which a shell completes verbs, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from territorial.cli import options
from territorial.cli.options import UsageError

EXAMPLES = """\
  territorial completion bash >> ~/.bash_completion
  territorial completion zsh > ~/.zfunc/_territorial   a folder of fpath
  territorial completion fish > ~/.config/fish/completions/territorial.fish
"""
SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "FILE_OR_LIVE")
FOLDERS = ("FOLDER", "RUN")
"""Names of arguments that are files, and folders."""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "print a script by which your shell completes verbs, options and files (needs shtab)"
    parser = options.new_parser(verbs, "completion", summary, EXAMPLES)
    parser.add_argument("shell", choices=SHELLS, help="the shell that the script is for")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Print the script."""
    print(script_for(parsed.shell))
    return 0


def script_for(shell: str) -> str:
    """Return the script of a shell; UsageError where shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "completion needs shtab: pip install 'territorial-env[completion]' (or '.[completion]' in the "
            "checkout)"
        ) from None
    from territorial import cli

    parser = cli.make_parser()
    for verb in parser.verbs.values():
        _mark_files(verb, shtab)
    return str(shtab.complete(parser, shell=shell))


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
