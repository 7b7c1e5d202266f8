"""``territorial match``: players over many games with statistics, at the same seats or at dealt ones."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from territorial.cli import cluster, options, snapshots
from territorial.cli.machine import machine, revision, versions
from territorial.cli.option_names import explained
from territorial.cli.options import UsageError
from territorial.config import GameConfig
from territorial.engine.seats import LINEUPS
from territorial.evaluation.charts import check_matplotlib
from territorial.evaluation.match import DEFAULT_LINEUP, MAPS, match
from territorial.evaluation.play import StoppedError
from territorial.evaluation.pool import MOST_PROCESSES
from territorial.evaluation.ranking import Ranking
from territorial.evaluation.results import ResultsError
from territorial.evaluation.schedule import MOST_GAMES
from territorial.league import SnapshotError

EXAMPLES = """\
  territorial match
  territorial match --seats levels-1 --games 200 --set handicap=true
  territorial match --seats banker,my_bots:Patient --num-players 24
  territorial match --seats snapshot:main-12,turtle --store snapshots
  territorial match --teams 4 --seats banker,turtle,besieger,settler
  territorial match --deal --games 2000 --plots plots   all bots, rated
  territorial match --games 2000 --records match.jsonl   give it again to resume
"""


# ---- options ---------------------------------------------------------------------------------------


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "play many games over many seeds and maps, and rank and rate the players"
    parser = options.new_parser(verbs, "match", summary, EXAMPLES)
    who = "bots, module:Class, style:FILE, net:FILE, or snapshot:NAME"
    default = f"{DEFAULT_LINEUP}; with --deal all bots"
    parser.add_argument(
        "--seats",
        metavar="PLAYER,PLAYER,...",
        help=options.seats_help(who, default, "seat, with --teams every team,"),
    )
    parser.add_argument(
        "--deal",
        action="store_true",
        help="deal the seats of each game anew, with --teams its teams, as evenly as they go",
    )
    parser.add_argument(
        "--games",
        type=options.whole(1, MOST_GAMES),
        default=100,
        metavar="N",
        help=explained("--games", f"those in --records count; 1 to {MOST_GAMES}", default=100),
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
    parser.set_defaults(run=run)


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


# ---- a match, from options to report ---------------------------------------------------------------


def run(parsed: argparse.Namespace) -> int:
    """Play what is missing of the match and report all of it; return the exit code."""
    options.check_json(parsed)
    if parsed.records is not None:
        options.check_writable("--records", parsed.records)
    if parsed.plots is not None:
        _check_plots(parsed.plots)
    config = config_of(parsed)
    try:
        ranking = _ranking(parsed, config)
    except StoppedError as stopped:
        return _reported(parsed, stopped.result, 1, str(stopped))
    return _reported(parsed, ranking, *((0, "") if ranking.is_complete else (130, "interrupted")))


def _ranking(parsed: argparse.Namespace, config: GameConfig) -> Ranking:
    """Return the result of the match; UsageError if there can be none."""
    size = f"games of {options.size_of(config)}"
    is_lineup = parsed.seats is None or parsed.seats in LINEUPS
    names = [] if is_lineup else [name.strip() for name in parsed.seats.split(",")]
    try:
        with (
            options.enough_memory("--height, --width, --num-players", size),
            cluster.games_of(parsed) as where,
        ):
            return match(
                parsed.seats if is_lineup else snapshots.players_of(parsed, names, where.store),
                config,
                games=parsed.games,
                deal=parsed.deal,
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
    """Return what there is of a match that has come to a stop."""
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
