"""``territorial train``: trains a league with RLlib, stoppable at any moment."""

from __future__ import annotations

import argparse
import dataclasses
import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rllib_adapters.requirements import INSTALL
from rllib_adapters.train.options import DEFAULT, LIMITS, PRESETS, RUN_FILE, Training, check_new
from territorial._log import LOG, elapsed
from territorial.cli import options
from territorial.cli.options import UsageError, option
from territorial.config.fields import describe
from territorial.engine.vec_game import compile_steps
from territorial.league.checkpoints import CheckpointError
from territorial.league.store import SnapshotError
from territorial.memory.plan import BudgetError

EXAMPLES = """\
  territorial train RUN --preset quick   train a small league in some minutes
  territorial train RUN                  train for an hour on two cores
  territorial train RUN --agent-seats 2 --snapshot-seats 6 --minutes 600
  territorial train RUN --start CLONE/weights.safetensors    begin with a clone
  territorial train RUN --resume         resume from the newest checkpoint
  territorial train RUN --address auto --env-runners 60    use a whole cluster
  territorial league show RUN            print ratings and the best players
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(verbs, "train", "train a league with RLlib", EXAMPLES, run)
    options.add(
        parser,
        option("folder", "folder of the run", metavar="RUN"),
        option("--resume", "resume the run in RUN from its newest complete checkpoint", action="store_true"),
        options.ADDRESS,
        option("--preset", shown=DEFAULT, choices=tuple(PRESETS)),
    )
    group = parser.add_argument_group(f"options of the run, with the defaults of the preset {DEFAULT}")
    for spec in dataclasses.fields(Training):
        group.add_argument(options.option_of(spec.name), help=_explained(spec), **_taken(spec))


def _taken(spec: dataclasses.Field[Any]) -> dict[str, Any]:
    """Return what the parser takes for an option; one that is not given is None."""
    if spec.type == "bool":
        return {"action": "store_const", "const": True}
    kind, metavar = {"int": (int, "N"), "float": (float, "X"), "str": (str, "TEXT")}[str(spec.type)]
    return {"type": kind, "metavar": metavar}


def _explained(spec: dataclasses.Field[Any]) -> str:
    """Return the help of an option: its meaning, its range and its default."""
    if spec.type == "bool":
        return str(spec.metadata["help"])
    default = getattr(PRESETS[DEFAULT], spec.name)
    return describe(spec) + f" (default {default})" * (default != "")


def run(parsed: argparse.Namespace) -> int:
    """Train, and return the exit code."""
    given = {
        name: getattr(parsed, name)
        for name in Training.__dataclass_fields__
        if getattr(parsed, name) is not None
    }
    try:
        training = None if parsed.resume else dataclasses.replace(PRESETS[parsed.preset or DEFAULT], **given)
    except (ValueError, TypeError) as error:
        field = str(error).partition(" is ")[0]
        where = f"argument {options.option_of(field)}: " if field in Training.__dataclass_fields__ else ""
        raise UsageError(f"{where}{error}") from None
    chosen = ["preset"] * bool(parsed.preset) + sorted(set(given) - set(LIMITS))
    if parsed.resume and chosen:
        raise UsageError(
            f"argument {options.option_of(chosen[0])}: it cannot change when a run is resumed; these can: "
            + ", ".join(map(options.option_of, LIMITS))
        )
    folder = Path(parsed.folder)
    _check_folder(folder, goes_on=training is None)
    try:
        with elapsed("territorial train: loading Ray and PyTorch"):
            import ray

            from rllib_adapters.train import run as runs
    except ImportError as error:
        raise UsageError(f"training needs Ray: {INSTALL} ({error})") from None
    try:
        kept = training or Training.read(folder / RUN_FILE)
    except (OSError, ValueError):
        kept = None  # it cannot be resumed, which is reported later
    if kept is not None:
        with elapsed("territorial train: compiling the engine"), options.blamed_on("", ValueError):
            compile_steps(kept.game())  # once, as all processes need it
    _start_ray(runs, parsed.address, 0 if kept is None else kept.env_runners)
    try:
        make, limits = partial(runs.Run, shared=parsed.address is not None), given if parsed.resume else {}
        return _train(make, folder, training, limits)
    finally:
        ray.shutdown()


def _start_ray(runs: Any, address: str | None, runners: int) -> None:
    """Start Ray on this machine, or join the cluster at ``address``; UsageError if there is none."""
    if address is None:
        with elapsed("territorial train: starting Ray"):
            runs.start_ray(runners)
        return
    from rllib_adapters.cluster import join

    with options.blamed_on("--address"), elapsed("territorial train: joining the cluster"):
        join(address)


def _check_folder(folder: Path, *, goes_on: bool) -> None:
    """Raise UsageError for a folder that a run cannot be in, before anything takes time."""
    if goes_on:
        if not (folder / RUN_FILE).exists():
            raise UsageError(f"argument RUN: there is no run in {str(folder)!r} that could be resumed")
        return
    with options.blamed_on("RUN"):
        check_new(folder)
    options.check_folder("RUN", str(folder))


def _train(make: Callable[..., Any], folder: Path, training: Training | None, limits: dict[str, Any]) -> int:
    try:
        with (
            options.blamed_on("", SnapshotError, ValueError, ImportError),
            elapsed(f"territorial train: {'building the algorithm' if training else 'resuming the run'}"),
        ):
            current = make(folder, training, **limits)
    except MemoryError as error:
        return _fail(error)
    try:
        LOG.info(_about(current.training))
        current.train(_show, during=lambda number: elapsed(f"territorial train: iteration {number}"))
        print(f"done: {current.checkpoints.latest()}")
        print(f"to see the results: territorial league show {folder} --plots {folder / 'plots'}")
        return 0
    except KeyboardInterrupt:
        LOG.error(f"interrupted; --resume resumes from {current.checkpoints.latest()}")
        return 130
    except (OSError, MemoryError) as error:
        code = _fail(error)
        if isinstance(error, BudgetError):
            LOG.error(
                "fewer --env-runners, --num-games or --iteration-steps take less memory; --resume accepts "
                "another --memory-mb"
            )
        LOG.error(f"--resume resumes from {current.checkpoints.latest()}")
        return code
    finally:
        current.close()


def _about(training: Training) -> str:
    """Return what is played, in a line."""
    one, game = training, training.game()
    decisions = -(-game.max_ticks // (game.decision_every * one.repeat))
    where = f"each of {one.env_runners} processes" if one.env_runners > 1 else "a process"
    return (
        f"{one.height} x {one.width} cells, {one.num_players} seats: {one.agent_seats} learn, "
        f"{one.snapshot_seats} are snapshots, {one.bot_seats} are bots"
        "; games of at most "
        f"{decisions:,} decisions, {one.num_games} side by side in {where}; an iteration is "
        f"{one.iteration_steps:,} decisions"
    )


def _show(row: dict[str, Any], seconds: int) -> None:
    games = _count(row["games"], "game") if row["games"] else "no game has ended yet"
    known = {
        "mean place": None if row["place"] is None else f"{row['place']:.1f}",
        "rating": None if row["rating_main"] is None else f"{row['rating_main']:.1f}",
        "frozen": row["frozen"],
    }
    parts = [games, *(f"{name} {text}" for name, text in known.items() if text)]
    LOG.info(
        f"iteration {row['iteration']}, {seconds // 60}:{seconds % 60:02}: {', '.join(parts)}, "
        f"{_count(row['snapshots'], 'snapshot')}, {row['memory_mb']:,} MB"
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _fail(error: BaseException) -> int:
    is_full = getattr(error, "errno", None) == errno.ENOSPC and not isinstance(error, CheckpointError)
    text = error.strerror if isinstance(error, CheckpointError) else error
    LOG.error(f"error: the disk is full: {text}" if is_full else f"error: {text}")
    return 1
