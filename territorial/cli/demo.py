"""``territorial demo``: plays one game of bots in the terminal."""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from territorial.browser.hosting import begin
from territorial.cli import options
from territorial.cli.options import option
from territorial.cli.standings import result_of, standings_of, standings_table, team_standings_of
from territorial.cli.watch import show, with_progress, write_game
from territorial.engine.seats import shown_names
from territorial.engine.vec_game import VecGame
from territorial.evaluation.schedule import lineup_name
from territorial.files.atomic import new_name
from territorial.render import render_game, write_png
from territorial.replay import Recorder
from territorial.replay.recorded import SUFFIX

EXAMPLES = """\
  territorial demo
  territorial demo --seed 7 --picture seven.png
  territorial demo --page              write a page for the browser as well
  territorial demo --seed 7 --replay   record the game for `territorial replay`
  territorial demo --seats metronome,banker,turtle --num-players 60
  territorial demo --height 512 --width 1024 --num-players 250 --map mountains
  territorial demo --set launch_delay=0 --set deaths=false --json game.json
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs, "demo", "play one whole game of bots, print the standings and leave a picture", EXAMPLES, run
    )
    options.add(
        parser,
        options.seed_option(options.SEEDS_OF_GAMES),
        options.seats_option(has_champion=True),
        option("--picture", shown="territorial-SEED.png, here", metavar="FILE"),
        option("--no-picture", action="store_true"),
        option("--page", shown="FILE is territorial-SEED.html, here", nargs="?", const="", metavar="FILE"),
        option(
            "--replay",
            "record the game in FILE, a few KB for `territorial replay`",
            shown="FILE is territorial-SEED.replay, here",
            nargs="?",
            const="",
            metavar="FILE",
        ),
        options.JSON,
    )
    options.add_config_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Play the game and report it."""
    config = options.config_of(parsed, seed=parsed.seed)
    seats = options.seats_of(parsed, config)
    files = _files(parsed)
    with options.enough_memory("--height, --width, --num-players", f"a game of {options.size_of(config)}"):
        with options.blamed_on("", ValueError):
            game = begin(config, seats, parsed.seed, is_recorded=bool(files["replay"] or files["page"]))
        recorder = Recorder(game) if files["replay"] or files["page"] else None
        seconds = sum(with_progress(_steps(game), game))
        standings = standings_of(game, shown_names(game.seats_of(0)))
        teams, ticks = team_standings_of(game, standings), int(game.state.tick[0])
        lives = [ticks if row.death_tick is None else row.death_tick + 1 for row in standings]
        steps, *agent_steps = (-(-number // config.decision_every) for number in (ticks, *lives))
        result = {
            "seed": parsed.seed,
            "line_up": lineup_name(seats),
            "config": config.to_dict(),
            "config_digest": config.hexdigest,
            "game_digest": game.digest(0).hex(),
            "seats": list(game.seats_of(0)),
            "ticks": ticks,
            "env_steps": steps,
            "seconds": seconds,
            "env_steps_per_s": steps / seconds,
            "ticks_per_s": ticks / seconds,
            "agent_steps_per_s": sum(agent_steps) / seconds,
            **result_of(standings, teams),
            **files,
        }
        replay = None if recorder is None else recorder.replay()
        if replay is not None and files["replay"] is not None:
            with options.blamed_on("--replay"):
                replay.save(files["replay"])
    text = (
        f"{standings_table(standings, teams)}\n\n"
        f"{ticks:,} ticks in {seconds * 1000:,.1f} ms of engine time, one game on one "
        f"core:\n  {result['ticks_per_s']:>12,.0f} ticks/s\n"
        f"  {result['agent_steps_per_s']:>12,.0f} agent-steps/s (of the living among {config.num_players} "
        f"seats, a decision every {config.decision_every} ticks)\n"
        "Many games at once are faster; `territorial bench` measures that."
    )

    @options.enough_memory("--height, --width, --num-players", f"pictures of {options.size_of(config)}")
    def draw() -> str:
        if files["picture"] is not None:
            with options.blamed_on("--picture"):
                write_png(files["picture"], render_game(game))
        if replay is not None and files["page"] is not None:
            shown = show(replay, game.seats_of(0), parsed.seed)
            write_game(files["page"], shown, lambda: replay, seats)
        return "".join(f"\n{kind}: {path}" for kind, path in files.items() if path is not None)

    options.report(parsed, text, result, *[draw] * any(files.values()))
    return 0


_CHECKS: Mapping[str, Callable[[str, str], None]] = {
    "picture": options.check_picture,
    "replay": partial(options.check_writable, kind=options.REPLAY),
    "page": partial(options.check_writable, kind=options.PAGE),
}


def _files(parsed: argparse.Namespace) -> dict[str, str | None]:
    """Return the files of the game, None for omitted ones; UsageError for one that cannot be written."""
    wanted = {
        "picture": (None if parsed.no_picture else parsed.picture or "", ".png"),
        "replay": (parsed.replay, SUFFIX),
        "page": (parsed.page, ".html"),
    }
    files: dict[str, str | None] = {
        kind: new_name(f"territorial-{parsed.seed}{suffix}") if path == "" else path
        for kind, (path, suffix) in wanted.items()
    }
    for kind, path in files.items():
        if path is not None:
            _CHECKS[kind](f"--{kind}", path)
    return files


# ---- playing ---------------------------------------------------------------------------------------


def _steps(game: VecGame) -> Iterator[float]:
    """Play the one game of ``game`` to its end, and yield the seconds of each of the engine's steps."""
    while not game.state.over[0]:
        started = time.perf_counter()
        game.step()
        yield time.perf_counter() - started
