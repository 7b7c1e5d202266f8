"""``territorial match``: compares players over many games, with statistics."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, get_args

from territorial._log import LOG
from territorial.bots.program import OnFailure
from territorial.cli import options, snapshots
from territorial.cli.machine import provenance
from territorial.cli.options import INTERRUPTED, UsageError, blamed_on, number, option
from territorial.engine.seats import LINEUPS
from territorial.evaluation.match import DEFAULT_LINEUP, MAPS, PLOTS, match
from territorial.evaluation.plots import check_matplotlib, check_plots
from territorial.evaluation.record import ResultsError
from territorial.evaluation.schedule import MOST_GAMES
from territorial.evaluation.workers import MOST_PROCESSES, Play, StoppedError
from territorial.league import SnapshotError, SnapshotStore

JOINED = EntryPoint("joined", "rllib_adapters.cluster:joined", "territorial.cli")
"""What joins a cluster; it needs the extra "rllib", and is loaded where ``--address`` is given."""
EXAMPLES = """\
  territorial match
  territorial match --seats levels-1 --games 200 --set handicap=true
  territorial match --seats banker,my_bots:Patient --num-players 24
  territorial match --seats champion,program:./wolf --on-failure hold
  territorial match --seats snapshot:main-12,turtle --store snapshots
  territorial match --seats checkpoint:FOLDER,turtle
  territorial match --teams 4 --seats banker,turtle,besieger,settler
  territorial match --deal --games 2000 --plots plots   all bots, rated
  territorial match --games 2000 --records match.jsonl   give it again to resume
"""


# ---- options ---------------------------------------------------------------------------------------


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs,
        "match",
        "play many games over many seeds and maps, and rank and rate the players",
        EXAMPLES,
        run,
    )
    options.add(
        parser,
        options.players_option(
            "bots, module:Class, style:FILE, net:FILE, program:FILE, snapshot:NAME, or "
            "checkpoint:FOLDER[:MODULE], whose pickles can run any code",
            f"{DEFAULT_LINEUP}; with --deal all bots",
            "seat, with --teams every team,",
            metavar="PLAYER,PLAYER,...",
        ),
        option(
            "--deal",
            "deal new seats for each game, with --teams whole teams, as evenly as possible",
            action="store_true",
        ),
        number("--games", 1, MOST_GAMES, "those in --records count", default=100),
        options.seed_option("the first game uses it, the next ones use the next numbers"),
        option(
            "--records",
            "append a line of JSON to FILE for each game; if FILE exists, only the missing games are played",
            metavar="FILE",
        ),
        option(
            "--on-failure",
            "a program that gives no answer stops the match, or its seat holds for the rest of the game",
            shown="error",
            choices=get_args(OnFailure),
            default="error",
        ),
        option("--plots", metavar="FOLDER"),
        number(
            "--processes",
            1,
            MOST_PROCESSES,
            shown="the usable cores, or with --address all of the cluster",
        ),
        options.ADDRESS,
        *snapshots.OPTIONS,
        options.JSON,
    )
    options.add_config_options(parser)


# ---- a match, from options to report ---------------------------------------------------------------


def run(parsed: argparse.Namespace) -> int:
    """Play the missing games of the match and report all of them; return the exit code."""
    if parsed.records is not None:
        options.check_writable("--records", parsed.records)
    if parsed.plots is not None:
        with blamed_on("--plots", ImportError):
            check_matplotlib()
            check_plots(Path(parsed.plots), PLOTS)
        options.check_folder("--plots", parsed.plots)
    config = options.config_of(parsed, MAPS)
    is_lineup = parsed.seats is None or parsed.seats in LINEUPS
    names = [] if is_lineup else [name.strip() for name in parsed.seats.split(",")]
    code, why = 0, ""
    try:
        with (
            options.enough_memory("--height, --width, --num-players", f"games of {options.size_of(config)}"),
            blamed_on("", ValueError, SnapshotError),
            blamed_on("--records", ResultsError),
            _where_games_play(parsed) as (play, open_store),
        ):
            ranking = match(
                parsed.seats if is_lineup else snapshots.players_of(parsed, names, open_store),
                config,
                games=parsed.games,
                deal=parsed.deal,
                code=snapshots.code_of(parsed, names),
                on_failure=parsed.on_failure,
                seed=parsed.seed,
                out=parsed.records,
                processes=parsed.processes,
                play=play,
            )
    except StoppedError as stopped:
        ranking, code, why = stopped.result, 1, str(stopped)
    else:
        if not ranking.is_complete:
            code, why = INTERRUPTED, "interrupted"
    try:
        if ranking.records:
            plots = options.plots(parsed, ranking.draw)
            options.report(parsed, ranking.text(), lambda: provenance() | ranking.to_dict(), *plots)
    finally:
        if why:
            done = f"{len(ranking.records):,} of {ranking.contest.games:,} games"
            kept = f"{done} are in {parsed.records}; the same command resumes"
            lost = f"{done} were played; with --records, the same command would resume"
            LOG.error("%s\n%s", why, lost if parsed.records is None else kept)
    return code


@contextmanager
def _where_games_play(
    parsed: argparse.Namespace,
) -> Iterator[tuple[Play | None, Callable[[str], SnapshotStore]]]:
    """Within the block, games can be played where ``--address`` says, and stores be opened for that.

    None stands for processes of this machine. UsageError if there is no cluster.
    """
    if parsed.address is None:
        yield None, SnapshotStore
        return
    try:
        joined = JOINED.load()
    except ImportError as error:
        raise UsageError(
            f"argument --address: a cluster needs Ray: pip install 'territorial-env[rllib]' ({error})"
        ) from None
    with ExitStack() as stack:
        with blamed_on("--address"):
            found = stack.enter_context(joined(parsed.address, parsed.processes))
        yield found
