"""``territorial demo``: one whole game of bots, live on the terminal, with standings and a picture."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TextIO

from territorial.cli import animation, options
from territorial.cli.animation import check_animation, write_animation
from territorial.cli.option_names import explained
from territorial.cli.options import UsageError
from territorial.cli.poster import Album, Title, draw_poster
from territorial.cli.show import live_show, write_page
from territorial.cli.standings import (
    SeatStanding,
    TeamStanding,
    result_of,
    standings_of,
    standings_table,
    team_standings_of,
)
from territorial.config import GameConfig
from territorial.engine.seats import Seat, shown_names
from territorial.engine.vec_game import VecGame
from territorial.jit import warmup
from territorial.render.figures import percent
from territorial.render.film import write_film
from territorial.replay import Recorder, Replay
from territorial.replay.frames import teams_in
from territorial.replay.replay import SUFFIX

EXAMPLES = """\
  territorial demo
  territorial demo --seed 7 --picture seven.png
  territorial demo --seed 7 --animation seven.mp4
  territorial demo --page              write a page for the browser as well
  territorial demo --seed 7 --replay   record the game for `territorial replay`
  territorial demo --seats metronome,banker,turtle --num-players 60
  territorial demo --height 512 --width 1024 --num-players 250 --map mountains
  territorial demo --set launch_delay=0 --set deaths=false --json game.json
"""

BOARDS = 128
"""Boards that are kept of a game, at most, for what shall be made of them; half as many at least."""
ANIMATION_FPS = 12
ANIMATION_SIDE = 512
"""Pixels of a board's longer side in an animation, about."""
MILESTONES = 10
"""Lines of progress that stay on the screen, however short the game."""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "play one whole game of bots, print the standings and leave a picture"
    parser = options.new_parser(verbs, "demo", summary, EXAMPLES)
    options.add_seed_option(parser, "equal seeds give equal games")
    options.add_seats_option(parser, has_champion=True)
    parser.add_argument(
        "--picture", metavar="FILE", help=explained("--picture", default="territorial-SEED.png, here")
    )
    parser.add_argument("--no-picture", action="store_true", help=explained("--no-picture"))
    parser.add_argument(
        "--animation",
        nargs="?",
        const="",
        metavar="FILE",
        help=explained("--animation", animation.KINDS, default="FILE is territorial-SEED.apng, here"),
    )
    parser.add_argument(
        "--page",
        nargs="?",
        const="",
        metavar="FILE",
        help=explained("--page", default="FILE is territorial-SEED.html, here"),
    )
    parser.add_argument(
        "--replay",
        nargs="?",
        const="",
        metavar="FILE",
        help="record the game in FILE, a few KB for `territorial replay` (default FILE is "
        "territorial-SEED.replay, here)",
    )
    options.add_json_option(parser)
    options.add_config_options(parser)
    parser.set_defaults(run=run)


class Files(NamedTuple):
    """What the game leaves, None where it leaves none."""

    picture: str | None
    animation: str | None
    replay: str | None
    page: str | None


def run(parsed: argparse.Namespace) -> int:
    """Play the game and report it."""
    config = options.config_of(parsed)
    seats = options.seats_of(parsed, config)
    files = _files(parsed)
    options.check_json(parsed)
    with options.enough_memory("--height, --width, --num-players", f"a game of {options.size_of(config)}"):
        game = begin(config, seats, parsed.seed, is_recorded=files.replay is not None)
        recorder = None if files.replay is None else Recorder(game)
        album = Album(BOARDS)
        match = _play(game, seats, album, sys.stderr)
    lineup = options.lineup_name(seats)
    if files.picture is not None:
        title = Title(lineup or f"{config.num_players} bots", parsed.seed, config, game.terrain_name(0))
        options.write_picture(
            "--picture", files.picture, draw_poster(title, album, match.standings, match.teams)
        )
    if files.animation is not None:
        _write_animation(files.animation, album, game, shown_names(seats))
    if recorder is not None and files.replay is not None:
        _write_replay(files.replay, recorder.replay())
    result = _result(match, game, parsed.seed, lineup) | files._asdict()
    if files.page is not None:  # the game is played again, so that filming it costs no time above
        game.reset(seeds=[parsed.seed])
        write_page("--page", files.page, b"".join(write_film(*live_show(game, parsed.seed))))
    options.report(parsed, _text(match, game, files), result)
    return 0


def _files(parsed: argparse.Namespace) -> Files:
    """Return what was asked for; UsageError for what cannot be written, before time is spent on it."""
    name = f"territorial-{parsed.seed}"
    files = Files(
        picture=None if parsed.no_picture else parsed.picture or options.new_name(f"{name}.png"),
        animation=None if parsed.animation is None else parsed.animation or options.new_name(f"{name}.apng"),
        replay=None if parsed.replay is None else parsed.replay or options.new_name(f"{name}{SUFFIX}"),
        page=None if parsed.page is None else parsed.page or options.new_name(f"{name}.html"),
    )
    if files.picture is not None:
        options.check_picture("--picture", files.picture)
    if files.animation is not None:
        check_animation("--animation", files.animation, ANIMATION_FPS)
    if files.replay is not None:
        options.check_writable("--replay", files.replay, options.REPLAY)
    if files.page is not None:
        options.check_writable("--page", files.page, options.PAGE)
    return files


def _write_replay(path: str, replay: Replay) -> None:
    try:
        replay.save(path)
    except OSError as error:
        raise UsageError(f"argument --replay: {path!r} cannot be written: {error.strerror}") from None


def _write_animation(path: str, album: Album, game: VecGame, names: Sequence[str]) -> None:
    write_animation(
        "--animation",
        path,
        album.boards(),
        game.config,
        names,
        game.terrain_name(0),
        teams=teams_in(game),
        side=ANIMATION_SIDE,
        fps=ANIMATION_FPS,
        stream=sys.stderr,
    )


# ---- playing ---------------------------------------------------------------------------------------


@dataclass
class Match:
    """A game that was played to its end, and how long that took."""

    ticks: int
    steps: int
    seconds: float
    """Time within the engine's steps alone."""
    living_steps: int
    """Steps of seats that were alive, summed."""
    standings: list[SeatStanding]
    teams: list[TeamStanding]


def begin(
    config: GameConfig,
    seats: Sequence[Seat],
    seed: int,
    *,
    is_recorded: bool = False,
    frames: int | None = None,
) -> VecGame:
    """Return a game at its first tick, with everything compiled that playing, or recording, it needs.

    ``frames``: boards in an observation, for policies that act on it; None: none acts.
    """
    observed: dict[str, Any] = {"observe": False} if frames is None else {"frames": frames}
    try:
        game = VecGame(config, num_games=1, seats=seats, autoreset="disabled", **observed)
    except ValueError as error:  # such as a map that has no room for all spawns
        raise UsageError(str(error)) from None
    with warmup.progress("territorial: compiling the engine"):
        game.reset(seeds=[seed])
        game.step()
        _ = game.state.owner
        if is_recorded:
            with Recorder(game) as recorder:
                game.reset(seeds=[seed])
                game.step()
                recorder.replay()
            game.reset(seeds=[seed])
            game.play(0, (), until=0)  # what verifies the replay
        game.reset(seeds=[seed])
    return game


def _play(game: VecGame, seats: Sequence[Seat], album: Album, stream: TextIO) -> Match:
    """Play the one game of ``game`` to its end, and let ``album`` keep what it needs."""
    progress = GameProgress(game, seats, stream)
    alive = game.state.alive[0]  # a view: always current
    steps, living_steps, spent, is_over = 0, 0, 0.0, False
    while not is_over:
        album.look(game, steps)
        living_steps += int(alive.sum())
        started = time.perf_counter()
        info = game.step()[-1]
        now = time.perf_counter()
        spent += now - started
        steps += 1
        is_over = bool(info["ended"][0])
        progress.show(now, is_over)
    album.close(game)
    ticks = int(game.state.tick[0])
    standings = standings_of(game, shown_names(seats))
    return Match(ticks, steps, spent, living_steps, standings, team_standings_of(game, standings))


class GameProgress:
    """One line on the state of the game: rewritten ten times a second on a terminal, else now and then.

    A few lines at fixed ticks stay, so that even a game of a few milliseconds leaves its story.
    """

    def __init__(self, game: VecGame, seats: Sequence[Seat], stream: TextIO) -> None:
        self._game, self._names, self._stream = game, shown_names(seats), stream
        self._is_terminal = stream.isatty()
        self._period = 0.1 if self._is_terminal else 3.0
        self._due = time.perf_counter() + self._period
        self._milestone = -(-game.config.max_ticks // MILESTONES)
        self._tick = game.state.tick  # a view: always current
        self._next_tick = self._milestone

    def show(self, now: float, is_over: bool) -> None:
        """Print the line if it is time to."""
        tick = int(self._tick[0])
        stays = tick >= self._next_tick or is_over
        if not stays and now < self._due:
            return
        self._due = now + self._period
        if stays:
            self._next_tick = (tick // self._milestone + 1) * self._milestone
        end = "\n" if stays or not self._is_terminal else "\r"
        print(self._line(tick), end=end, file=self._stream, flush=True)

    def _line(self, tick: int) -> str:
        state, last = self._game.state, self._game.config.max_ticks
        leader = int(state.land[0, 1:].argmax()) + 1
        share = percent(int(state.land[0, leader]), int(state.num_land[0]))
        bar = "#" * (20 * tick // last)
        return (
            f"tick {tick:>{len(f'{last:,}')},} of {last:,} [{bar:20}]  "
            f"{int(state.alive[0].sum()):3} alive  "
            f"leader P{leader} {self._names[leader - 1]} {share}   "
        )


# ---- reporting -------------------------------------------------------------------------------------


def _rates(match: Match, num_players: int) -> dict[str, float]:
    return {
        "env_steps_per_s": match.steps / match.seconds,
        "ticks_per_s": match.ticks / match.seconds,
        "agent_steps_per_s": match.steps * num_players / match.seconds,
        "living_agent_steps_per_s": match.living_steps / match.seconds,
    }


def _result(match: Match, game: VecGame, seed: int, lineup: str | None) -> dict[str, Any]:
    return {
        "seed": seed,
        "line_up": lineup,
        "config": game.config.to_dict(),
        "config_digest": game.config.hexdigest,
        "game_digest": game.digest(0).hex(),
        "seats": list(game.seats_of(0)),
        "ticks": match.ticks,
        "env_steps": match.steps,
        "seconds": match.seconds,
        **_rates(match, game.config.num_players),
        **result_of(match.standings, match.teams),
    }


def _text(match: Match, game: VecGame, files: Files) -> str:
    rates = _rates(match, game.config.num_players)
    text = (
        f"{standings_table(match.standings, match.teams)}\n\n"
        f"{match.ticks:,} ticks in {match.seconds * 1000:,.1f} ms of engine time, one game on one "
        f"core:\n  {rates['ticks_per_s']:>12,.0f} ticks/s\n"
        f"  {rates['agent_steps_per_s']:>12,.0f} agent-steps/s ({game.config.num_players} seats, "
        f"a decision every {game.config.decision_every} ticks)\n"
        "Many games at once are faster; `territorial bench` measures that."
    )
    left = [f"{kind}: {path}" for kind, path in files._asdict().items() if path is not None]
    return "\n\n".join([text, "\n".join(left)] if left else [text])
