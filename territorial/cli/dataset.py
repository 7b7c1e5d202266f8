"""``territorial dataset``: writes the decisions of bot games as arrays."""

from __future__ import annotations

import argparse
from typing import Any

from territorial._log import LOG
from territorial.cli import options
from territorial.cli.options import blamed_on, explained
from territorial.constants import MAX_CANDIDATES, NUM_CANDIDATES
from territorial.evaluation.progress import Progress
from territorial.evaluation.schedule import MOST_GAMES
from territorial.evaluation.workers import MOST_PROCESSES, PlayingError
from territorial.training import DatasetError, make
from territorial.training.make_dataset import GAMES_PER_SHARD, MOST_GAMES_PER_SHARD

EXAMPLES = """\
  territorial dataset clones --games 1000
  territorial dataset clones --games 2000    adds 1000 games
  territorial dataset small --num-players 8 --rows-of turtle,banker
  territorial dataset grid --every-ticks 50 --num-candidates 6
  territorial dataset values --every-ticks 200 --chances 50
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "play games of bots and write their decisions as arrays, for cloning and offline learning"
    parser = options.new_parser(verbs, "dataset", summary, EXAMPLES)
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        help="output folder; of an unfinished data set, only missing games are played",
    )
    parser.add_argument(
        "--games",
        type=options.whole(1, MOST_GAMES),
        default=100,
        metavar="N",
        help=explained("--games", f"1 to {MOST_GAMES}", default=100),
    )
    options.add_seed_option(parser, "the first game uses it, the next ones use the next numbers")
    options.add_seats_option(parser)
    group = parser.add_argument_group("the rows")
    group.add_argument(
        "--rows-of",
        type=_seats,
        metavar="SEAT,SEAT,...",
        help="seats whose decisions are written: names of bots, or numbers from 1 on (default all seats)",
    )
    group.add_argument(
        "--every-ticks",
        type=options.whole(1, 10**6),
        metavar="TICKS",
        help="ticks from one row of a seat to its next; 1 to 1000000 (default a row where the seat decided)",
    )
    group.add_argument(
        "--num-candidates",
        type=options.whole(1, MAX_CANDIDATES),
        default=NUM_CANDIDATES,
        metavar="C",
        help=f"owners that a row shows of those that the seat can attack; 1 to {MAX_CANDIDATES} (default "
        "%(default)s)",
    )
    group.add_argument(
        "--discount",
        type=float,
        default=1.0,
        metavar="X",
        help="discount factor per environment step; 0 to 1, excluding 0 (default %(default)s)",
    )
    group.add_argument(
        "--chances",
        type=options.whole(1, MOST_GAMES),
        metavar="N",
        help=explained(
            "--chances", f"N times from each tick of --every-ticks; 1 to {MOST_GAMES}", default="none"
        ),
    )
    group.add_argument(
        "--games-per-shard",
        type=options.whole(1, MOST_GAMES_PER_SHARD),
        default=GAMES_PER_SHARD,
        metavar="N",
        help=f"games of one file; 1 to {MOST_GAMES_PER_SHARD} (default %(default)s)",
    )
    parser.add_argument(
        "--processes",
        type=options.whole(1, MOST_PROCESSES),
        metavar="N",
        help=explained("--processes", "1 to 1024", default="the usable cores"),
    )
    options.add_report(parser, run)
    options.add_config_options(parser)


def _seats(text: str) -> tuple[int | str, ...]:
    """Return seat numbers and names."""
    parts = [part.strip() for part in text.split(",")]
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def run(parsed: argparse.Namespace) -> int:
    """Make the missing part of the data set and report it; exit code 1 if games could not be played."""
    config = options.config_of(parsed)
    seats = options.seats_of(parsed, config)
    options.check_folder("FOLDER", parsed.folder)
    progress = Progress(parsed.games)
    try:
        with (
            options.enough_memory("--games-per-shard", f"games of {options.size_of(config)}"),
            blamed_on("", ValueError),
            blamed_on("FOLDER", DatasetError),
        ):
            manifest = make(
                parsed.folder,
                config,
                seats,
                games=parsed.games,
                seed=parsed.seed,
                rows_of=parsed.rows_of,
                every=parsed.every_ticks,
                num_candidates=parsed.num_candidates,
                discount=parsed.discount,
                chances=parsed.chances,
                games_per_shard=parsed.games_per_shard,
                processes=parsed.processes,
                on_shard=lambda done: progress.show(done.games, f"{done.rows:,} rows"),
            )
    except PlayingError as error:
        LOG.error("%s\nthe same command resumes", error)
        return 1
    finally:
        progress.close()
    size = sum(shard.bytes for shard in manifest.shards)
    result = {
        "folder": parsed.folder,
        "games": manifest.games,
        "rows": manifest.rows,
        "shards": len(manifest.shards),
        "bytes": size,
        "bytes_per_row": round(size / manifest.rows, 1) if manifest.rows else None,
        "is_complete": manifest.is_complete,
    }
    text = (
        f"{parsed.folder}: {manifest.rows:,} rows of {manifest.games:,} games in "
        f"{len(manifest.shards):,} files, {size:,} bytes"
    )
    options.report(parsed, text, result)
    return 0
