"""``territorial doctor``: looks for what makes trainers fail on an environment with all its wrappers."""

from __future__ import annotations

import argparse
import importlib
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from territorial.cli import options
from territorial.testing import Report, diagnose

EXAMPLES = """\
  territorial doctor my_project.envs:make_env
  territorial doctor make_env.py:make_env --max-steps 200
  territorial doctor territorial:parallel_env    a full game; takes a while

The function takes no arguments. It returns a PettingZoo ParallelEnv or AECEnv,
a gymnasium.Env or a gymnasium.vector.VectorEnv, with the wrappers that a
trainer will see. The exit code is 1 if a check fails.
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "check your own environment, wrappers included, for what makes trainers fail"
    parser = options.new_parser(verbs, "doctor", summary, EXAMPLES)
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="function that makes the environment")
    options.add_seed_option(parser, "the episodes of the checks use it")
    parser.add_argument(
        "--max-steps",
        type=options.whole(1, 1_000_000),
        default=1000,
        metavar="N",
        help="steps of an episode after which the checks stop; 1 to 1000000 (default 1000)",
    )
    options.add_json_option(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Make all checks, say what they found, and return 1 if any failed."""
    options.check_json(parsed)
    make = load(parsed.function)
    started = time.perf_counter()
    try:
        report = diagnose(make, parsed.seed, max_steps=parsed.max_steps, progress=_progress)
    except Exception as error:
        _progress("")
        raise options.UsageError(f"argument MODULE:FUNCTION: {parsed.function}(): {error}") from error
    _progress("")
    result = {
        "kind": report.kind,
        "passed": not report.failures,
        "findings": [finding._asdict() for finding in report.findings],
        "skipped": report.skipped,
        "trainers": report.trainers,
    }
    options.report(parsed, text_of(report, time.perf_counter() - started), result)
    return int(bool(report.failures))


def load(name: str) -> Callable[[], Any]:
    """Return the function of ``module:function``, or of ``file.py:function``; UsageError if there is none."""
    module_name, sign, function_name = name.rpartition(":")
    if not sign or not module_name or not function_name:
        raise options.UsageError(f"argument MODULE:FUNCTION: {name!r} is not of the form module:function")
    path = Path(module_name)
    if path.suffix == ".py":
        if not path.is_file():
            raise options.UsageError(f"argument MODULE:FUNCTION: there is no file {str(path)!r}")
        folder, module_name = str(path.resolve().parent), path.stem
    else:
        folder = ""  # the folder one is in, as `python -m` has it
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise options.UsageError(
            f"argument MODULE:FUNCTION: {module_name!r} cannot be imported: {error}"
        ) from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise options.UsageError(f"argument MODULE:FUNCTION: {module_name} has no function {function_name!r}")
    made: Callable[[], Any] = function
    return made


def text_of(report: Report, seconds: float) -> str:
    """Return what was found, for reading."""
    lines = [report.kind, ""]
    for finding in report.findings:
        lines.append(f"  {'ok    ' if finding.passed else 'FAILED'}  {finding.check}")
        if not finding.passed:
            lines += textwrap.wrap(
                finding.problem[:1000], 100, initial_indent=" " * 10, subsequent_indent=" " * 10
            )
            lines += textwrap.wrap(
                finding.advice, 100, initial_indent="       -> ", subsequent_indent=" " * 10
            )
    lines += [f"  skipped {', '.join(names)}: {why}" for why, names in _by_reason(report.skipped).items()]
    lines += _text_of_trainers(report.trainers)
    failed = len(report.failures)
    made = len(report.findings)
    ending = f"{failed} of {made} checks failed" if failed else f"all {made} checks passed"
    skipped = f", {len(report.skipped)} skipped" if report.skipped else ""
    return "\n".join([*lines, "", f"{ending}{skipped}, in {seconds:.1f} s"])


def _by_reason(skipped: dict[str, str]) -> dict[str, list[str]]:
    """Return the checks that were skipped for each reason."""
    names: dict[str, list[str]] = {}
    for name, why in skipped.items():
        names.setdefault(why, []).append(name)
    return names


def _text_of_trainers(against: dict[str, list[str]]) -> list[str]:
    """Return which trainers can play the environment, and why the others cannot."""
    if not against:
        return []
    fit = [name for name, problems in against.items() if not problems]
    lines = ["", f"trainers that can play it: {', '.join(fit) or 'none of those in docs/trainers.md'}"]
    for name, problems in against.items():
        for problem in problems:
            lines += textwrap.wrap(
                f"not with {name}: {problem}", 100, initial_indent="  ", subsequent_indent=" " * 6
            )
    return lines


def _progress(name: str) -> None:
    """Show which check is being made, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{name + ' ...' if name else ''}")
        sys.stderr.flush()
