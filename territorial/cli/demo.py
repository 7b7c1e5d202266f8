"""``territorial demo``: one whole game of bots, live on the terminal, with standings and a picture."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from territorial.cli import options
from territorial.cli.options import UsageError, explained
from territorial.cli.pages import live_show
from territorial.cli.pictures import ANIMATION_KINDS, check_animation, draw_poster, rhythm, write_animation
from territorial.cli.standings import (
    Standing,
    result_of,
    standings_of,
    standings_table,
    team_standings_of,
)
from territorial.config import GameConfig
from territorial.engine.seats import Seat, shown_names
from territorial.engine.vec_game import VecGame
from territorial.evaluation.progress import ProgressLine
from territorial.jit import warmup
from territorial.render import write_png
from territorial.render.figures import percent
from territorial.render.film import write_film
from territorial.render.web import write_page
from territorial.replay import LiveGame, Recorder
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
"""Boards that pictures and animations are made of, at most."""
ANIMATION_FPS = 12


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
        help=explained("--animation", ANIMATION_KINDS, default="FILE is territorial-SEED.apng, here"),
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


def run(parsed: argparse.Namespace) -> int:
    """Play the game and report it."""
    config = options.config_of(parsed)
    seats = options.seats_of(parsed, config)
    files = _files(parsed)
    options.check_json(parsed)
    with options.enough_memory("--height, --width, --num-players", f"a game of {options.size_of(config)}"):
        game = begin(config, seats, parsed.seed, is_recorded=files["replay"] is not None)
        recorder = None if files["replay"] is None else Recorder(game)
        match = _play(game)
        lineup = options.lineup_name(seats)
        result = _result(match, game, parsed.seed, lineup) | files
        if recorder is not None and files["replay"] is not None:
            with options.blamed_on("--replay"):
                recorder.replay().save(files["replay"])
        if files["picture"] is not None or files["animation"] is not None:
            # The game is played again, as its length is known then.
            game.reset(seeds=[parsed.seed])
            source = LiveGame(game)
            frames = list(source.frames(rhythm(config, match.ticks, BOARDS)))
    if files["picture"] is not None:
        title = f"{lineup or f'{config.num_players} bots'}  seed {parsed.seed}"
        with options.blamed_on("--picture"):
            write_png(files["picture"], draw_poster(title, source, frames, match.standings))
    if files["animation"] is not None:
        write_animation(files["animation"], source, frames, ANIMATION_FPS)
    if files["page"] is not None:
        game.reset(seeds=[parsed.seed])
        with options.blamed_on("--page"):
            write_page(files["page"], b"".join(write_film(*live_show(game, parsed.seed))))
    options.report(parsed, _text(match, game, files), result)
    return 0


def _files(parsed: argparse.Namespace) -> dict[str, str | None]:
    """Return what the game leaves, None where it leaves none; UsageError for what cannot be written."""
    wanted = {
        "picture": (None if parsed.no_picture else parsed.picture or "", ".png"),
        "animation": (parsed.animation, ".apng"),
        "replay": (parsed.replay, SUFFIX),
        "page": (parsed.page, ".html"),
    }
    files: dict[str, str | None] = {
        kind: options.new_name(f"territorial-{parsed.seed}{suffix}") if path == "" else path
        for kind, (path, suffix) in wanted.items()
    }
    if files["picture"] is not None:
        options.check_picture("--picture", files["picture"])
    if files["animation"] is not None:
        check_animation(files["animation"], ANIMATION_FPS)
    if files["replay"] is not None:
        options.check_writable("--replay", files["replay"], options.REPLAY)
    if files["page"] is not None:
        options.check_writable("--page", files["page"], options.PAGE)
    return files


# ---- playing ---------------------------------------------------------------------------------------


@dataclass
class Match:
    """A game that was played to its end, and how long that took."""

    ticks: int
    steps: int
    seconds: float
    """Time within the engine's steps alone."""
    standings: list[Standing]
    teams: list[Standing]


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


def _play(game: VecGame) -> Match:
    """Play the one game of ``game`` to its end."""
    progress = GameProgress(game, sys.stderr)
    steps, spent, is_over = 0, 0.0, False
    while not is_over:
        started = time.perf_counter()
        info = game.step()[-1]
        spent += time.perf_counter() - started
        steps += 1
        is_over = bool(info["ended"][0])
        progress.show()
    ticks = int(game.state.tick[0])
    standings = standings_of(game, shown_names(game.seats_of(0)))
    return Match(ticks, steps, spent, standings, team_standings_of(game, standings))


class GameProgress:
    """The line on the state of a game, and the one on its end, which stays."""

    def __init__(self, game: VecGame, stream: TextIO) -> None:
        self._game, self._names, self._line = game, shown_names(game.seats_of(0)), ProgressLine(stream)

    def show(self) -> None:
        """Print the line if it is time to, or if the game is over."""
        state, last = self._game.state, self._game.config.max_ticks
        tick, leader = int(state.tick[0]), int(state.land[0, 1:].argmax()) + 1
        share = percent(int(state.land[0, leader]), int(state.num_land[0]))
        bar = "#" * (20 * tick // last)
        text = (
            f"tick {tick:>{len(f'{last:,}')},} of {last:,} [{bar:20}]  "
            f"{int(state.alive[0].sum()):3} alive  leader P{leader} {self._names[leader - 1]} {share}"
        )
        if state.over[0]:
            self._line.close(text)
        else:
            self._line.show(text)


# ---- reporting -------------------------------------------------------------------------------------


def _rates(match: Match, num_players: int) -> dict[str, float]:
    return {
        "env_steps_per_s": match.steps / match.seconds,
        "ticks_per_s": match.ticks / match.seconds,
        "agent_steps_per_s": match.steps * num_players / match.seconds,
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


def _text(match: Match, game: VecGame, files: dict[str, str | None]) -> str:
    rates = _rates(match, game.config.num_players)
    text = (
        f"{standings_table(match.standings, match.teams)}\n\n"
        f"{match.ticks:,} ticks in {match.seconds * 1000:,.1f} ms of engine time, one game on one "
        f"core:\n  {rates['ticks_per_s']:>12,.0f} ticks/s\n"
        f"  {rates['agent_steps_per_s']:>12,.0f} agent-steps/s ({game.config.num_players} seats, "
        f"a decision every {game.config.decision_every} ticks)\n"
        "Many games at once are faster; `territorial bench` measures that."
    )
    left = [f"{kind}: {path}" for kind, path in files.items() if path is not None]
    return "\n\n".join([text, "\n".join(left)] if left else [text])
