"""``territorial dataset``: writes the decisions of bot games as arrays."""

import argparse
from typing import Any

from territorial._log import LOG
from territorial.cli import options
from territorial.cli.options import blamed_on, number, option
from territorial.constants import MAX_CANDIDATES, NUM_CANDIDATES
from territorial.evaluation.progress import Progress
from territorial.evaluation.schedule import MOST_GAMES
from territorial.evaluation.workers import MOST_PROCESSES, PlayingError
from territorial.training import DatasetError, make
from territorial.training.dataset import GAMES_PER_SHARD, MOST_GAMES_PER_SHARD

EXAMPLES = """\
  territorial dataset clones --games 1000
  territorial dataset clones --games 2000    adds 1000 games
  territorial dataset small --num-players 8 --rows-of turtle,banker
  territorial dataset grid --every-ticks 50 --num-candidates 6
  territorial dataset values --every-ticks 200 --chances 50
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs,
        "dataset",
        "play games of bots and write their decisions as arrays, for cloning and offline learning",
        EXAMPLES,
        run,
    )
    options.add(
        parser,
        option(
            "folder",
            "output folder; of an unfinished data set, only missing games are played",
            metavar="FOLDER",
        ),
        number("--games", 1, MOST_GAMES, default=100),
        options.seed_option("the first game uses it, the next ones use the next numbers"),
        options.seats_option(),
    )
    options.add(
        parser.add_argument_group("the rows"),
        option(
            "--rows-of",
            "seats whose decisions are written: names of bots, or numbers from 1 on",
            shown="all seats",
            type=_seats,
            metavar="SEAT,SEAT,...",
        ),
        number(
            "--every-ticks",
            1,
            10**6,
            "ticks from one row of a seat to its next",
            shown="a row where the seat decided",
            metavar="TICKS",
        ),
        number(
            "--num-candidates",
            1,
            MAX_CANDIDATES,
            "owners that a row shows of those that the seat can attack",
            default=NUM_CANDIDATES,
            metavar="C",
        ),
        option(
            "--discount",
            "discount factor per environment step; 0 to 1, excluding 0",
            shown=1.0,
            type=float,
            default=1.0,
            metavar="X",
        ),
        number("--chances", 1, MOST_GAMES, "N times from each tick of --every-ticks", shown="none"),
        number("--games-per-shard", 1, MOST_GAMES_PER_SHARD, "games of one file", default=GAMES_PER_SHARD),
    )
    options.add(parser, number("--processes", 1, MOST_PROCESSES, shown="the usable cores"), options.JSON)
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
