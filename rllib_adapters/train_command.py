"""``territorial train``: a league, trained with RLlib, that can be stopped at any moment and gone on with."""

from __future__ import annotations

import argparse
import dataclasses
import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rllib_adapters.training import PRESETS, Training
from territorial.cli import options
from territorial.cli.options import UsageError
from territorial.league.checkpoints import CheckpointError
from territorial.league.errors import StoreInUseError

EXAMPLES = """\
  territorial train RUN --preset quick            a small league, in some minutes
  territorial train RUN                           the preset features: an hour on two cores
  territorial train RUN --agents 2 --snapshots 6 --minutes 600 --log tensorboard
  territorial train RUN --resume                  goes on from the newest complete checkpoint
  territorial league show RUN                     ratings, and who is above whom
"""
LIMITS = ("iterations", "minutes", "memory_mb")
"""What may be another when a run is gone on with."""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(verbs, "train", "train a league with RLlib", EXAMPLES)
    parser.add_argument("folder", metavar="RUN", help="folder of the run")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder")
    parser.add_argument(
        "--preset", choices=tuple(PRESETS), default="features", help="what is not given (default features)"
    )
    group = parser.add_argument_group("options of the run, with the defaults of the preset features")
    for spec in dataclasses.fields(Training):
        group.add_argument(
            "--" + spec.name.replace("_", "-"),
            type={"int": int, "float": float, "str": str}[str(spec.type)],
            metavar="N" if spec.type == "int" else "X" if spec.type == "float" else "TEXT",
            help=f"{spec.metadata['help']} (default {spec.default})",
        )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Train, and return the exit code."""
    given = {name: getattr(parsed, name) for name in Training.describe() if getattr(parsed, name) is not None}
    training = None if parsed.resume else _training(parsed.preset, given)
    if parsed.resume and (wrong := sorted(set(given) - set(LIMITS))):
        raise UsageError(
            f"--{wrong[0].replace('_', '-')} cannot change when a run goes on; these may: "
            + ", ".join("--" + name.replace("_", "-") for name in LIMITS)
        )
    try:
        import ray

        from rllib_adapters import run as runs
    except ImportError as error:
        raise UsageError(
            f"training needs Ray: pip install 'territorial-env[rllib,league]' ({error})"
        ) from None
    _say("starting Ray")
    runs.start_ray(_runners(Path(parsed.folder) / runs.OPTIONS, training))
    try:
        return _train(runs, Path(parsed.folder), training, given if parsed.resume else {})
    finally:
        ray.shutdown()


def _train(runs: Any, folder: Path, training: Training | None, limits: dict[str, Any]) -> int:
    try:
        _say("building the algorithm" if training else "taking the run up again")
        current = runs.Run(folder, training, **limits)
    except (FileExistsError, FileNotFoundError, StoreInUseError, ValueError, ImportError) as error:
        raise UsageError(str(error)) from None
    except MemoryError as error:
        return _fail(error)
    try:
        current.train(_show)
        _say(f"done: {current.checkpoints.latest()}")
        return 0
    except KeyboardInterrupt:
        _say(f"interrupted; --resume goes on from {current.checkpoints.latest()}")
        return 130
    except (OSError, MemoryError) as error:
        code = _fail(error)
        _say(f"--resume goes on from {current.checkpoints.latest()}")
        return code
    finally:
        current.close()


def _runners(path: Path, training: Training | None) -> int:
    """Return how many processes play; where a run cannot be gone on with, that is said later."""
    try:
        return (training or Training.read(path)).runners
    except (OSError, ValueError):
        return 0


def _training(preset: str, given: dict[str, Any]) -> Training:
    try:
        return dataclasses.replace(PRESETS[preset], **given)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None


def _show(row: dict[str, Any], seconds: int) -> None:
    place = "-" if row["place"] is None else f"{row['place']:.2f}"
    frozen = f", frozen {row['frozen']}" if row["frozen"] else ""
    _say(
        f"iteration {row['iteration']}, {seconds // 60}:{seconds % 60:02}: {row['games']:,} games, "
        f"mean place {place}, rating {row['rating_main']:.1f}, {row['snapshots']} snapshots{frozen}, "
        f"{row['memory_mb']:,} MB"
    )


def _fail(error: BaseException) -> int:
    is_full = getattr(error, "errno", None) == errno.ENOSPC and not isinstance(error, CheckpointError)
    text = error.strerror if isinstance(error, CheckpointError) else error
    _say(f"error: the disk is full: {text}" if is_full else f"error: {text}")
    return 1


def _say(text: str) -> None:
    sys.stderr.write(f"territorial train: {text}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what ``territorial train`` does with these arguments."""
    parser = argparse.ArgumentParser(prog="territorial")
    add_parser(parser.add_subparsers(dest="verb", required=True))
    parsed = parser.parse_args(["train", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        return int(parsed.run(parsed))
    except UsageError as error:
        _say(f"error: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
