"""The verb of another package that cannot be loaded: it says why, and what to install."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from territorial.cli.options import UsageError


def add_parser(verbs: Any, name: str, where: str, error: Exception) -> None:
    """Add a verb that takes any arguments and fails with the reason why it is not there."""
    reason = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
    summary = f"not available: {reason}".replace("%", "%%")
    # No argument begins with NUL, so all of them are taken, --help among them.
    parser = verbs.add_parser(name, help=summary, description=summary, prefix_chars="\0", add_help=False)
    parser.add_argument("arguments", nargs="*")
    parser.set_defaults(run=partial(_fail, f"{name} ({where}) cannot be loaded: {reason}"))


def _fail(text: str, _: argparse.Namespace) -> int:
    raise UsageError(text)
