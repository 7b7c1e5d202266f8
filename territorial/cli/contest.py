"""What ``territorial match`` and ``territorial tournament`` share: playing a contest and reporting it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from territorial.bots import short
from territorial.cli import options, snapshots
from territorial.cli.machine import machine, versions
from territorial.cli.option_names import explained
from territorial.cli.options import STDOUT, UsageError
from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame, compile_steps
from territorial.evaluation.charts import check_matplotlib, draw_charts
from territorial.evaluation.play import PlayingError, cause, play_games, play_on_all_cores, side_by_side
from territorial.evaluation.players import Entrants
from territorial.evaluation.policies import MakePolicies
from territorial.evaluation.ratings import Rating, rate
from territorial.evaluation.record import GameRecord
from territorial.evaluation.results import ContestResults, ResultsError
from territorial.evaluation.schedule import MOST_GAMES, Contest, Draw
from territorial.evaluation.statistics import Estimate, Line, RecordArrays
from territorial.evaluation.time_left import time_left
from territorial.files.cores import usable_cores
from territorial.files.locks import locked
from territorial.jit import warmup
from territorial.league import SnapshotError

MAPS = 16
"""Generated maps that a contest is played on, unless the user says otherwise."""
MOST_BEATS = 12
"""Players for which the matrix of placements is printed."""
WHO = "bots, module:Class for a bot in Python, or snapshot:NAME"
"""Who can play, for the help of both verbs."""
SHOW_EVERY = 2.0
"""Seconds between two lines of progress that stay, where there is no terminal."""


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
        type=options.whole(1, 1024),
        default=usable_cores(),
        metavar="N",
        help=f"worker processes that play the games; 1 to 1024 (default {usable_cores()}, the usable cores)",
    )
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


def run(parsed: argparse.Namespace, players: Sequence[str], draw: Draw) -> int:
    """Play what is missing of the contest and report all of it; return the exit code."""
    options.check_json(parsed)
    if parsed.records is not None:
        options.check_writable("--records", parsed.records)
    if parsed.plots is not None:
        _check_plots(parsed.plots)
    config = config_of(parsed)
    make_policies = snapshots.policies_of(parsed, players)
    contest = _contest(parsed, config, players, draw, make_policies)
    with _alone(parsed.records):
        return _play_and_report(parsed, contest, players, make_policies)


def _contest(
    parsed: argparse.Namespace,
    config: GameConfig,
    players: Sequence[str],
    draw: Draw,
    make_policies: MakePolicies | None,
) -> Contest:
    try:
        field = Entrants(config, players, make_policies)
        code = field.code | snapshots.code_of(parsed, players)
        return Contest(
            config=config, players=field.names, games=parsed.games, seed=parsed.seed, draw=draw, code=code
        )
    except (ValueError, SnapshotError) as error:
        raise UsageError(str(error)) from None


@contextmanager
def _alone(out: str | None) -> Iterator[None]:
    """Keep other processes from playing into the same file; UsageError if one does."""
    with ExitStack() as stack:
        try:
            if out is not None:
                stack.enter_context(locked(Path(f"{out}.lock"), wait=False))
        except BlockingIOError:
            raise UsageError(
                f"argument --records: another process plays games into {out!r}; wait until it has ended, or "
                "name another file"
            ) from None
        except OSError as error:
            raise UsageError(f"argument --records: {out!r}: {error.strerror}") from None
        yield


def _play_and_report(
    parsed: argparse.Namespace, contest: Contest, players: Sequence[str], make_policies: MakePolicies | None
) -> int:
    results = _results(parsed, contest)
    missing = contest.games - len(results.records)
    code, why = 0, ""
    if missing:
        _compile(contest.config)
        try:
            _play(parsed, contest, results, players, make_policies)
        except KeyboardInterrupt:
            code, why = 130, "interrupted"
        except (PlayingError, ResultsError) as error:
            code, why = 1, str(error)
        except Exception as error:  # of a bot or a policy that plays in this process
            code, why = 1, cause(error)
    try:
        if results.records:
            _report(parsed, contest, results)
    finally:
        if why:
            print(f"territorial {parsed.verb}: {why}\n{_kept(parsed, contest, results)}", file=sys.stderr)
    return code


def _kept(parsed: argparse.Namespace, contest: Contest, results: ContestResults) -> str:
    """Return what there is of a contest that has come to a stop."""
    done = f"{len(results.records):,} of {contest.games:,} games"
    if parsed.records is None:
        return f"{done} were played; without --records they are not saved"
    return f"{done} are in {parsed.records}; the same command resumes"


def _results(parsed: argparse.Namespace, contest: Contest) -> ContestResults:
    """Return those games of the contest that have been played before."""
    try:
        return ContestResults(contest, parsed.records)
    except ResultsError as error:
        raise UsageError(f"argument --records: {error}") from None
    except OSError as error:
        raise UsageError(f"argument --records: {parsed.records!r}: {error.strerror}") from None


def _compile(config: GameConfig) -> None:
    """Compile here and now what all processes then find compiled, and see that the game can be set up."""
    with options.enough_memory("--height, --width, --num-players", f"games of {options.size_of(config)}"):
        try:
            VecGame(config, 1, observe=False)
        except ValueError as error:  # such as a map that has no room for all spawns
            raise UsageError(str(error)) from None
        with warmup.progress("territorial: compiling the engine"):
            compile_steps(config)


def _play(
    parsed: argparse.Namespace,
    contest: Contest,
    results: ContestResults,
    players: Sequence[str],
    make_policies: MakePolicies | None,
) -> None:
    """Play the games that are missing, and show how far it is."""
    fixtures, missing = contest.fixtures(without=results.numbers), contest.games - len(results.records)
    processes = min(parsed.processes, missing)
    if processes == 1:
        records = play_games(contest.config, players, fixtures, make_policies)
    else:
        portion = side_by_side(missing, processes)
        records = play_on_all_cores(contest.config, players, fixtures, processes, make_policies, portion)
    progress = ContestProgress(contest.games, contest.games - missing, sys.stderr)
    try:
        for record in results.add(records):
            progress.show(record)
    finally:
        progress.close()


class ContestProgress:
    """One line on how far the contest is: rewritten on a terminal, else a new one now and then."""

    def __init__(self, games: int, done: int, stream: TextIO) -> None:
        self._games, self._done, self._before, self._stream = games, done, done, stream
        self._started = self._shown = time.perf_counter()
        self._is_terminal = stream.isatty()

    def show(self, record: GameRecord) -> None:
        """Count a game, and print the line if it is time to."""
        self._done += 1
        now = time.perf_counter()
        if now - self._shown >= (0.1 if self._is_terminal else SHOW_EVERY):
            self._shown = now
            winner = short(record.seats[int(np.argmin(record.places))])
            self._print(now, f"last won by {winner}")

    def close(self) -> None:
        """Print the last line."""
        self._print(time.perf_counter(), "")
        if self._is_terminal:
            print(file=self._stream)

    def _print(self, now: float, remark: str) -> None:
        played, seconds = self._done - self._before, now - self._started
        bar = "#" * (20 * self._done // self._games)
        left = time_left(played, self._games - self._done, seconds)
        speed = f"{played / seconds:.1f} a second, {left}" if left else ""
        text = f"{self._done:,} of {self._games:,} games [{bar:20}]  {speed}  {remark}"
        print(f"{text:100}", end="\r" if self._is_terminal else "\n", file=self._stream, flush=True)


# ---- reporting -------------------------------------------------------------------------------------


def _report(parsed: argparse.Namespace, contest: Contest, results: ContestResults) -> None:
    """Print the tables, draw the plots and write the JSON that were asked for."""
    tally = RecordArrays(results.records)
    try:
        ratings: dict[str, Rating] | None = rate(tally.records)
        remark = ""
    except ImportError as error:
        ratings, remark = None, f"\n{error}"
    plots = [] if parsed.plots is None else _draw(parsed.plots, tally, ratings)
    if parsed.json != STDOUT:
        print(text_of(tally, ratings) + remark)
        for path in plots:
            print(f"plot: {path}")
    if parsed.json is not None:
        options.write_json(parsed.json, result_of(contest, tally, ratings))


def _check_plots(folder: str) -> None:
    """Raise UsageError if there can be no plots in ``folder``, before time is spent on what they show."""
    try:
        check_matplotlib()
    except ImportError as error:
        raise UsageError(f"argument --plots: {error}") from None
    options.check_folder("--plots", folder)


def _draw(folder: str, tally: RecordArrays, ratings: Mapping[str, Rating] | None) -> list[Path]:
    try:
        return draw_charts(tally, ratings, Path(folder))
    except OSError as error:
        raise UsageError(f"argument --plots: {folder!r}: {error.strerror}") from None


def text_of(tally: RecordArrays, ratings: Mapping[str, Rating] | None) -> str:
    """Return the standings, the matrix of placements, and the shape of the games as text."""
    heads = ("seats", "mean place", "games won", "times fair", "rating")
    rows = [("player", *heads)]
    lines = tally.table()
    for line in lines:
        won = _interval(line.wins, 100, ".1f") + " %"
        cells = (_interval(line.place, 1, ".1f"), won, _interval(line.fair, 1, ".2f"))
        rows.append((line.player, f"{line.seats:,}", *cells, _rating(line.player, ratings)))
    widths, longest = (9, 19, 20, 19, 15), max(15, *(len(name) for name, *_ in rows))
    table = [
        f"{name:{longest + 2}}"
        + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, *cells in rows
    ]
    return "\n".join(
        [*table, "", *_beats_lines(tally, [line.player for line in lines]), *_shape_lines(tally.shape())]
    )


def _beats_lines(tally: RecordArrays, order: Sequence[str]) -> list[str]:
    """Return how often a seat of one player is placed above one of another, if there are few of them."""
    if len(order) == 1:
        return []
    if len(order) > MOST_BEATS:
        return ["how often one comes in before another: see --json or --plots"]
    index, width = [tally.players.index(name) for name in order], max(map(len, order)) + 2
    shown = [[f"{100 * share:.0f}" for share in row] for row in tally.beats()[np.ix_(index, index)]]
    lines = [
        f"{name:{width}}"
        + "".join(f"{'-' if i == j or cell == 'nan' else cell:>{width}}" for j, cell in enumerate(row))
        for i, (name, row) in enumerate(zip(order, shown, strict=True))
    ]
    head = " " * width + "".join(f"{name:>{width}}" for name in order)
    return ["a seat of the row comes in before one of the column, per cent of all times:", head, *lines, ""]


def _rating(player: str, ratings: Mapping[str, Rating] | None) -> str:
    """Return a rating as text, a dash for a player that met no other."""
    if ratings is None:
        return ""
    rating = ratings.get(player)
    return "-" if rating is None else f"{rating.mu:.1f} ± {1.96 * rating.sigma:.1f}"


def _interval(estimate: Estimate, scale: float, form: str) -> str:
    value, low, high = (f"{scale * number:{form}}" for number in estimate)
    return f"{value} ({low}..{high})"


def _shape_lines(shape: Mapping[str, Any]) -> list[str]:
    gone, length = shape["neutral_gone"], shape["length"]
    alive = ", ".join(f"{found['median']:g} at {int(tick):,}" for tick, found in shape["alive"].items())
    lines = [
        f"{shape['games']:,} games; length {length['min']:,.0f} to {length['max']:,.0f} ticks, median "
        f"{length['median']:,.0f}; the time limit stops {100 * shape['stopped_by_time']:.0f} %"
    ]
    if gone is not None:
        lines.append(f"neutral land is gone at tick {gone['median']:,.0f} in the median")
    if alive:
        lines.append(f"players alive, in the median: {alive}")
    return lines


def result_of(contest: Contest, tally: RecordArrays, ratings: Mapping[str, Rating] | None) -> dict[str, Any]:
    """Return everything there is to say about a contest, as values that JSON has."""
    beats = [[None if np.isnan(share) else float(share) for share in row] for row in tally.beats()]
    return {
        "versions": versions(),
        "machine": machine(),
        "contest": contest.to_dict() | {"games": contest.games},
        "shape": tally.shape(),
        "standings": [_standing(line, ratings) for line in tally.table()],
        "players": list(tally.players),
        "beats": beats,
        "ticks": tally.ticks.tolist(),
        "survival": tally.survival(tally.ticks).tolist(),
        "land": tally.land(tally.ticks).tolist(),
    }


def _standing(line: Line, ratings: Mapping[str, Rating] | None) -> dict[str, Any]:
    rating = None if ratings is None else ratings.get(line.player)
    estimates = {name: getattr(line, name)._asdict() for name in ("place", "wins", "fair")}
    return {"player": line.player, "seats": line.seats, **estimates, "rating": rating and rating._asdict()}
