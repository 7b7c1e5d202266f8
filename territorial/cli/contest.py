"""What ``territorial match`` and ``territorial tournament`` share: playing a contest and reporting it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from territorial.cli import cluster, options, snapshots
from territorial.cli.machine import machine, revision, versions
from territorial.cli.option_names import explained
from territorial.cli.options import UsageError
from territorial.config import GameConfig
from territorial.evaluation.charts import check_matplotlib
from territorial.evaluation.contests import MAPS, ContestStoppedError
from territorial.evaluation.pool import MOST_PROCESSES
from territorial.evaluation.ranking import Ranking
from territorial.evaluation.results import ResultsError
from territorial.evaluation.schedule import MOST_GAMES
from territorial.league import SnapshotError

WHO = "bots, module:Class, style:FILE, net:FILE, or snapshot:NAME"
"""Who can play, for the help of both verbs."""


# ---- options ---------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser, games: int) -> None:
    """Add the options that both verbs have."""
    parser.add_argument(
        "--games",
        type=options.whole(1, MOST_GAMES),
        default=games,
        metavar="N",
        help=explained("--games", f"those in --records count; 1 to {MOST_GAMES}", default=games),
    )
    options.add_seed_option(parser, "the first game uses it, the next ones use the next numbers")
    parser.add_argument(
        "--records",
        metavar="FILE",
        help="append a line of JSON to FILE for each game; if FILE exists, only the missing games are played",
    )
    parser.add_argument("--plots", metavar="FOLDER", help=explained("--plots"))
    parser.add_argument(
        "--processes",
        type=options.whole(1, MOST_PROCESSES),
        metavar="N",
        help="worker processes that play the games; 1 to 1024 (default: the usable cores, or with --address "
        "all of the cluster)",
    )
    cluster.add_option(parser)
    snapshots.add_options(parser)
    options.add_json_option(parser)
    options.add_config_options(parser)


def config_of(parsed: argparse.Namespace) -> GameConfig:
    """Return the config that the options describe, with MAPS maps if they leave that open."""
    if "num_maps" not in dict(parsed.assignments):
        try:
            several = argparse.Namespace(
                **{**vars(parsed), "assignments": [*parsed.assignments, ("num_maps", MAPS)]}
            )
            return options.config_of(several)
        except UsageError:  # a custom map is the only one
            pass
    return options.config_of(parsed)


# ---- a contest, from options to report --------------------------------------------------------------


def run(parsed: argparse.Namespace, names: Sequence[str], compare: Callable[..., Ranking]) -> int:
    """Play what is missing of the contest and report all of it; return the exit code.

    ``names``: of the players, or that of a line-up; ``compare``: ``territorial.match`` or ``tournament``.
    """
    options.check_json(parsed)
    if parsed.records is not None:
        options.check_writable("--records", parsed.records)
    if parsed.plots is not None:
        _check_plots(parsed.plots)
    config = config_of(parsed)
    try:
        ranking = _ranking(parsed, names, config, compare)
    except ContestStoppedError as stopped:
        return _reported(parsed, stopped.ranking, 1, str(stopped))
    return _reported(parsed, ranking, *((0, "") if ranking.is_complete else (130, "interrupted")))


def _ranking(
    parsed: argparse.Namespace, names: Sequence[str], config: GameConfig, compare: Callable[..., Ranking]
) -> Ranking:
    """Return the result of the contest; UsageError if there can be none."""
    size = f"games of {options.size_of(config)}"
    try:
        with (
            options.enough_memory("--height, --width, --num-players", size),
            cluster.games_of(parsed) as where,
        ):
            players = snapshots.players_of(parsed, names, where.store)
            return compare(
                players,
                config,
                games=parsed.games,
                code=snapshots.code_of(parsed, names),
                seed=parsed.seed,
                out=parsed.records,
                processes=parsed.processes,
                play=where.play,
            )
    except ResultsError as error:
        raise UsageError(f"argument --records: {error}") from None
    except OSError as error:
        raise UsageError(f"argument --records: {error.filename!r}: {error.strerror}") from None
    except (ValueError, SnapshotError) as error:
        raise UsageError(str(error)) from None


def _reported(parsed: argparse.Namespace, ranking: Ranking, code: int, why: str) -> int:
    """Report what there is, then why it has come to a stop, if it has; return ``code``."""
    try:
        if ranking.records:
            _report(parsed, ranking)
    finally:
        if why:
            print(f"territorial {parsed.verb}: {why}\n{_kept(parsed, ranking)}", file=sys.stderr)
    return code


def _kept(parsed: argparse.Namespace, ranking: Ranking) -> str:
    """Return what there is of a contest that has come to a stop."""
    done = f"{len(ranking.records):,} of {ranking.contest.games:,} games"
    if parsed.records is None:
        return f"{done} were played; without --records they are not saved"
    return f"{done} are in {parsed.records}; the same command resumes"


def _report(parsed: argparse.Namespace, ranking: Ranking) -> None:
    """Print the tables, draw the plots and write the JSON that were asked for."""
    plots = [] if parsed.plots is None else _draw(parsed.plots, ranking)
    text = "\n".join([ranking.text(), *(f"plot: {path}" for path in plots)])
    options.report(parsed, text, partial(_result, ranking))


def _result(ranking: Ranking) -> dict[str, Any]:
    """Return the ranking as values that JSON has, with the code and the machine that it is of."""
    return {"revision": revision(), "versions": versions(), "machine": machine(), **ranking.to_dict()}


def _check_plots(folder: str) -> None:
    """Raise UsageError if there can be no plots in ``folder``, before time is spent on what they show."""
    try:
        check_matplotlib()
    except ImportError as error:
        raise UsageError(f"argument --plots: {error}") from None
    options.check_folder("--plots", folder)


def _draw(folder: str, ranking: Ranking) -> list[Path]:
    try:
        return ranking.draw(folder)
    except OSError as error:
        raise UsageError(f"argument --plots: {error.filename!r}: {error.strerror}") from None
