"""The command line: one module per verb of ``territorial``.

Every verb is a module with ``add_parser(subparsers)``: it adds its own parser and names the
function that does the work with ``set_defaults(run=...)``; that function takes the parsed arguments
and returns the exit code. Other packages join in the same way, through the entry-point group
``territorial.cli``. In their pyproject.toml::

    [project.entry-points."territorial.cli"]
    train = "their_package.train_command"

where the object named has such an ``add_parser``; that makes ``territorial train``. They are loaded
only when none of the verbs here is asked for, so a heavy package does not slow these down.

Results go to stdout, progress and errors to stderr. Exit codes: 0 done, 1 could not be done (a full disk
behind stdout included), 2 wrong arguments, 130 interrupted, 141 the reader of stdout has closed it.
"""

import argparse
import io
import logging
import os
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from territorial._log import LOG
from territorial.cli import bench, dataset, demo, info, league, match, play, replay, watch, whatif
from territorial.cli.options import INTERRUPTED, TYPED, Parser, UsageError
from territorial.constants import __version__
from territorial.memory.plan import BudgetError
from territorial.replay import ReplayError

FAILED = 1
WRONG = 2
NO_READER = 141
"""128 and the number of SIGPIPE, as shells have it: the reader of stdout, such as ``head``, has closed it."""
ENTRY_POINTS = "territorial.cli"
"""The group in which other packages register verbs."""
TRAIN = EntryPoint("train", "rllib_adapters.train.cli", ENTRY_POINTS)
"""A verb of this project that needs the extra "rllib"; named here, so that there is always an answer."""

GROUPS: Mapping[str, Mapping[str, Any]] = {
    "games": {"demo": demo, "play": play, "watch": watch, "replay": replay, "whatif": whatif},
    "players": {"match": match},
    "learning": {"train": None, "league": league, "dataset": dataset},
    "this machine, and what there is": {"info": info, "bench": bench},
}
"""The verbs by what they are for; None: that of another package."""

VERBS = {name: module for group in GROUPS.values() for name, module in group.items() if module is not None}

EXAMPLES = """\
examples:
  territorial play                    play a game yourself, in the browser
  territorial demo                    play one game of 32 bots, draw a picture
  territorial demo --seed 7 --seats metronome,banker
  territorial watch                   show a game in the browser
  territorial demo --replay           play a game and record it
  territorial replay FILE --at 2000   print a recorded game as of tick 2000
  territorial watch FILE              show a recorded game in the browser
  territorial info maps europe        show a map
  territorial bench                   measure the speed of this machine
  territorial info --json             print the versions for a bug report

`territorial VERB --help` describes each verb.
"""

OTHERS = "others"
"""The group of verbs of other packages."""


class RootParser(Parser):
    """The parser of the command line; its help lists verbs by ``groups``, ``verbs`` has their parsers."""

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


def command() -> int:
    """Run the command in a process of its own, which SIGTERM and SIGHUP interrupt as Ctrl-C does."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    return main()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors are one line on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    TYPED["command"] = " ".join(["territorial", *(one for one in arguments[:1] if not one.startswith("-"))])
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process
    handler = logging.StreamHandler()
    # On a terminal, a message takes the place of a line of progress, or of the ^C that it shows.
    start, width = ("\r", 60) if sys.stderr.isatty() else ("", 0)
    handler.setFormatter(logging.Formatter(f"{start}%(command)s: %(message)-{width}s", defaults=TYPED))
    LOG.addHandler(handler)
    level, propagates, LOG.propagate = LOG.level, LOG.propagate, False
    try:
        if sys.stdout is None:
            return _failed("error: stdout is closed; >/dev/null is for results that nobody reads", FAILED)
        if isinstance(sys.stdout, io.TextIOWrapper):  # a letter that it lacks, as of a path, is no error
            sys.stdout.reconfigure(errors="backslashreplace")
        code = _do(arguments)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _failed(f"error: {error}", WRONG)
    except (ReplayError, BudgetError) as error:
        return _failed(str(error), FAILED)
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    except OSError as error:  # that no command expected: mostly that of stdout
        broken = _error_of_stdout("\n")  # what failed may be lost: one more line tells
        if broken is None:
            return _failed(f"error: {error}", FAILED)
        if isinstance(broken, BrokenPipeError):
            return _failed("whoever read stdout has left", NO_READER)
        return _failed(f"error: stdout cannot be written: {broken.strerror}", FAILED)
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)
        LOG.propagate = propagates


def _do(arguments: list[str]) -> int:
    try:
        parser = make_parser(with_plugins=not (arguments and arguments[0] in VERBS))
        if not arguments:
            parser.print_help()
            return 0
        parsed = parser.parse_args(arguments)
    except SystemExit as finished:  # argparse has said everything already
        return int(finished.code or 0)
    LOG.setLevel(logging.WARNING if getattr(parsed, "quiet", False) else logging.INFO)
    return int(parsed.run(parsed))


def make_parser(*, with_plugins: bool = True) -> RootParser:
    """Return the parser of all verbs, with the verbs of other packages on request."""
    parser = RootParser(
        prog="territorial",
        description="A fast simulator of a territorial conquest game.",
        epilog=EXAMPLES,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=14),
    )
    parser.add_argument("--version", action="version", version=f"territorial-env {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    parser.groups, parser.verbs = GROUPS, verbs
    for module in VERBS.values():
        module.add_parser(verbs)
    if with_plugins:
        # One that cannot be loaded says why when it is called.
        points = {point.name: point for point in (TRAIN, *entry_points(group=ENTRY_POINTS))}
        for name, point in sorted(points.items()):
            try:
                point.load().add_parser(verbs)
            except Exception as error:
                add_unavailable(verbs, name, point.value, error)
    return parser


def _error_of_stdout(text: str = "") -> OSError | None:
    """Flush stdout and write ``text``; return the error, if any, and prevent another attempt."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would, as it exits
        return error
    return None


def _failed(text: str, code: int) -> int:
    if sys.stdout is not None:
        _error_of_stdout()
    LOG.error(text)
    return code
