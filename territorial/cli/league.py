"""``territorial league show``: a league as a table and as plots."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from territorial.cli import options
from territorial.cli.options import UsageError, blamed_on, number, option
from territorial.league.charts import draw_league, order_of
from territorial.league.checkpoints import Checkpoints, DamagedCheckpointsError
from territorial.league.league import League

EXAMPLES = """\
  territorial league show RUN                  print ratings and standings
  territorial league show RUN --plots FOLDER   draw plots of it as well
  territorial league show STORE                of a league of add_league
  territorial league show league.npz --json league.json
"""
FILE = "league.npz"


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(verbs, "league", "inspect a league", EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = options.new_parser(
        actions, "show", "print the standings of a league, and draw them", EXAMPLES, run
    )
    options.add(
        show,
        option(
            "path",
            "folder of a run of `territorial train` or of the snapshots of a league, or a file written by "
            "League.save",
            metavar="RUN",
        ),
        option("--plots", metavar="FOLDER"),
        number("--top", 1, 100_000, "players to print, best first", default=30),
        options.JSON,
    )


def run(parsed: argparse.Namespace) -> int:
    """Show a league and return the exit code."""
    if parsed.plots:
        options.check_folder("--plots", parsed.plots)
    league, where = league_of(Path(parsed.path))
    plots = options.plots(parsed, partial(draw_league, league))
    options.report(parsed, text_of(league, where, parsed.top), partial(result_of, league), *plots)
    return 0


def league_of(path: Path) -> tuple[League, Path]:
    """Return the league of a file, a store, or the newest complete checkpoint of a run, and where it was."""
    if (path / FILE).is_file():
        path = path / FILE
    elif path.is_dir():
        with blamed_on("RUN", DamagedCheckpointsError):
            latest = Checkpoints(path / "checkpoints").latest() if (path / "checkpoints").is_dir() else None
        if latest is None:
            raise UsageError(f"argument RUN: there is no complete checkpoint in {str(path)!r}")
        path = latest / FILE
    with blamed_on("RUN", ValueError, ImportError):
        return League.load(path), path


def text_of(league: League, where: Path, most: int = 30) -> str:
    """Return the standings of the players with games, as text."""
    main = league.pool("mains")[0]
    steps = ", ".join(f"{name} {count:,}" for name, count in league.steps.items())
    lines = [f"{where}: {league.num_games:,} games, {len(league.snapshots)} snapshots; steps: {steps}", ""]
    played = [name for name in order_of(league) if league.payoff.opponents(name)]
    if played:
        heading = f"{'games with ' + league.label(main):>26}{league.label(main) + ' above it':>30}"
        lines.append(f"{'player':24}{'rating':>15}{heading}")
    for name in played[:most]:
        rating, met = league.rating(name), league.payoff.of(main, name)
        chance = f"{100 * met.above:.0f} % ({100 * met.low:.0f}..{100 * met.high:.0f})" if met.games else ""
        mark = rating.text() if league.is_rated(name) else ""
        lines.append(f"{league.label(name):24}{mark:>15}{met.games or '':>26}{chance:>30}")
    if len(played) > most:
        lines.append(f"... and {len(played) - most} more")
    lines += _who_waits(league)
    for name in league.steps:
        view = league.gate(name)
        lines += ["", f"gate of {name}: {'open' if view.is_open else 'shut'}: {view.reason}"]
    return "\n".join(lines)


def _who_waits(league: League) -> list[str]:
    """Return a line on the players without games."""
    players = dict.fromkeys(
        map(league.named, (*league.pool("learners"), *league.pool("bots"), *league.pool("snapshots")))
    )
    waiting = [league.label(name) for name in players if not league.payoff.opponents(name)]
    if len(waiting) == len(players):
        return [f"no game has ended yet, so there is nothing to compare: {', '.join(waiting)}"]
    return [f"no game yet: {', '.join(waiting)}"] if waiting else []


def result_of(league: League) -> dict[str, Any]:
    """Return all that is known, as values that JSON has."""
    names = order_of(league)
    share, games = league.payoff.matrix(names)
    rows = [[None if value != value else round(value, 4) for value in row] for row in share.tolist()]
    return {
        "games": league.num_games,
        "steps": league.steps,
        "players": names,
        "ratings": {name: list(league.rating(name)) if league.is_rated(name) else None for name in names},
        "above": rows,
        "met": games.tolist(),
        "snapshots": [vars(one) for one in league.snapshots.values()],
        "history": league.history,
    }
