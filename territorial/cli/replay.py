"""``territorial replay``: verifies a recorded game and shows any of its ticks."""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

from territorial._log import elapsed
from territorial.cli import options
from territorial.cli.options import UsageError, aligned, blamed_on, number, option
from territorial.cli.standings import result_of, standings_of, standings_table, team_standings_of
from territorial.config import GameConfig
from territorial.constants import RULES_VERSION
from territorial.evaluation.progress import ProgressLine
from territorial.files.atomic import new_name
from territorial.render import Renderer, write_gif, write_png
from territorial.render.board import Image
from territorial.render.picture_files import HIGHEST_FPS
from territorial.render.renderer import fitting_scale
from territorial.replay import DivergedError, Frame, Replay, frame_of

EXAMPLES = """\
  territorial demo --replay game.replay     record a game
  territorial replay game.replay            print what game it is
  territorial replay game.replay --verify   exit code 1 if it plays differently
  territorial replay game.replay --standings
  territorial replay game.replay --at 2000 --picture then.png
  territorial replay game.replay --animation game.gif --every 20 --fps 30
  territorial replay game.replay --verify --json
"""

VIDEO_PICTURES = 300
"""Pictures of an animation, at most, unless it is said how often they are taken."""
VIDEO_FPS = 20
HOLD = 2
"""Seconds for which the last picture of an animation stays."""
BOARD_PIXELS = 512
"""About the longer side of a board in an animation."""


Section = tuple[dict[str, Any], str | Callable[[], str]]
"""One thing that this verb can say: values that JSON has, and the same as text, or what draws it."""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs,
        "replay",
        "inspect a recorded game: verify it, print its standings, draw it at any tick",
        EXAMPLES,
        run,
    )
    options.add(
        parser,
        option("file", "the recorded game, a .replay file", metavar="FILE"),
        option(
            "--info", "print what game it is (the default if nothing else is asked for)", action="store_true"
        ),
        option("--verify", "play the game again and compare it with the recording", action="store_true"),
        option("--standings", "print the standings at the end, or at the tick of --at", action="store_true"),
        option(
            "--at",
            "print the standings at TICK and write a picture; 0 to the last tick of the game",
            type=int,
            metavar="TICK",
        ),
        option(
            "--picture",
            "it shows the tick of --at",
            shown="the replay's name and TICK, here",
            metavar="FILE",
        ),
        option("--no-picture", action="store_true"),
    )
    options.add(
        parser.add_argument_group("animations"),
        option(
            "--animation",
            shown="FILE is the replay's name and .gif, here",
            nargs="?",
            const="",
            metavar="FILE",
        ),
        number(
            "--every",
            1,
            10_000_000,
            shown=f"as few as give at most {VIDEO_PICTURES} frames",
            metavar="TICKS",
        ),
        number("--fps", 1, HIGHEST_FPS, "frames of the animation per second", default=VIDEO_FPS),
    )
    options.add(parser, options.JSON)


def run(parsed: argparse.Namespace) -> int:
    """Report on a replay; exit code 1 if the file is no replay, or its game plays out differently."""
    with blamed_on("FILE"):
        replay = Replay.load(parsed.file)
    _check_options(parsed, replay)
    parts = [part(parsed, replay) for part in _wanted(parsed)]
    result: dict[str, Any] = {"file": parsed.file}
    for found, _ in parts:
        result |= found
    texts = [text for _, text in parts if isinstance(text, str)]
    options.report(parsed, "\n".join(texts), result, *(draw for _, draw in parts if callable(draw)))
    return 0 if result.get("verified", True) else 1


def _check_options(parsed: argparse.Namespace, replay: Replay) -> None:
    """Raise UsageError for options that do not fit the replay or each other, before anything is played."""
    if parsed.at is not None and not 0 <= parsed.at <= replay.num_ticks:
        raise UsageError(f"argument --at: {parsed.at}; the ticks of this replay are 0 to {replay.num_ticks}")
    if parsed.picture is not None and (parsed.at is None or parsed.no_picture):
        raise UsageError(f"argument --picture: {parsed.picture!r} is written only with --at")
    if parsed.at is not None and not parsed.no_picture:
        parsed.picture = parsed.picture or new_name(f"{Path(parsed.file).stem}-{parsed.at}.png")
        options.check_picture("--picture", parsed.picture)
    if parsed.animation is not None:
        parsed.animation = parsed.animation or new_name(f"{Path(parsed.file).stem}.gif")
        options.check_picture("--animation", parsed.animation, options.ANIMATION, ".gif")
    elif parsed.every is not None:
        raise UsageError(f"argument --every: {parsed.every} has an effect only with --animation")


def _wanted(parsed: argparse.Namespace) -> list[Callable[[argparse.Namespace, Replay], Section]]:
    """Return the functions that make the requested parts, in the order of the report."""
    asked = {
        _verify: parsed.verify,
        _standings: parsed.standings or parsed.at is not None,
        _picture: parsed.picture is not None,
        _video: parsed.animation is not None,
    }
    asked = {_info: parsed.info or not any(asked.values()), **asked}
    return [part for part, is_wanted in asked.items() if is_wanted]


# ---- parts -----------------------------------------------------------------------------------------


def _info(parsed: argparse.Namespace, replay: Replay) -> Section:
    """Facts from the file, for which no game is played."""
    config = replay.config
    result = {
        "bytes": Path(parsed.file).stat().st_size,
        "library_version": replay.library_version,
        "rules_version": RULES_VERSION,
        "obs_version": replay.obs_version,
        "map_kind": replay.map_kind,
        "config": config.to_dict(),
        "seed": replay.seed,
        "seats": list(replay.seats),
        "names": list(replay.names),
        "ticks": replay.num_ticks,
        "is_over": replay.is_over,
        "launches": len(replay.launches),
        "checkpoints": [[tick, digest.hex()] for tick, digest in replay.checkpoints],
        "game_digest": replay.digest.hex(),
    }
    rows = {
        "file": f"{parsed.file}, {result['bytes']:,} bytes",
        "game": f"{config.height} x {config.width}, map {replay.map_kind or 'of its own'}, "
        f"{config.num_players} seats, seed {replay.seed}",
        "ticks": f"{replay.num_ticks:,}, " + ("to the end" if replay.is_over else "left before the end"),
        "launches": f"{len(replay.launches):,}",
        "checkpoints": f"{len(replay.checkpoints)}, at the end {replay.digest.hex()}",
        "changes": ", ".join(f"P{seat} {name} from tick {tick:,}" for tick, seat, name in replay.changes)
        or "nobody took over a seat",
        "seats": ", ".join(f"{count} {name}" for name, count in Counter(replay.seats).items()),
        "config": _differences(config) or "the defaults",
        "recorded by": f"territorial-env {replay.library_version}, rules {RULES_VERSION}, "
        f"observations {replay.obs_version}",
    }
    return result, aligned(list(rows.items()), indent=0)


def _verify(parsed: argparse.Namespace, replay: Replay) -> Section:
    """Whether the game plays out as it was recorded."""
    with elapsed("territorial: playing the replay"):
        replay.seek(min(1, replay.num_ticks)).digest(0)  # what has to be compiled or loaded, now is
        started = time.perf_counter()
        try:
            replay.verify()
        except DivergedError as error:
            return {"verified": False, "difference": str(error)}, f"NOT the same: {error}"
        seconds = time.perf_counter() - started
    return {"verified": True, "verify_seconds": seconds}, (
        f"verified: {replay.num_ticks:,} ticks, {len(replay.checkpoints)} checkpoints, the same in every one "
        f"({seconds * 1000:,.0f} ms)"
    )


def _standings(parsed: argparse.Namespace, replay: Replay) -> Section:
    """The standings, at the end or at the requested tick."""
    with elapsed("territorial: playing the replay"):
        game = replay.seek(_tick(parsed, replay))
    rows = standings_of(game, replay.names)
    teams = team_standings_of(game, rows)
    result = {"tick": _tick(parsed, replay), **result_of(rows, teams)}
    return result, f"\ntick {result['tick']:,}\n{standings_table(rows, teams)}"


def _picture(parsed: argparse.Namespace, replay: Replay) -> Section:
    """A picture of board and standings at the tick asked for."""

    def draw() -> str:
        tick = _tick(parsed, replay)
        frame = frame_of(replay.seek(tick))
        renderer = Renderer(len(frame.land), names=replay.names, teams=replay.teams)
        picture = _drawn(renderer, frame, replay)
        with blamed_on("--picture"):
            write_png(parsed.picture, picture)
        return f"\npicture: {parsed.picture}"

    return {"picture": parsed.picture}, draw


def _video(parsed: argparse.Namespace, replay: Replay) -> Section:
    """An animation of the whole game."""
    path, decision = parsed.animation, replay.config.decision_every
    least = -(-replay.num_ticks // (decision * VIDEO_PICTURES))
    every = parsed.every or decision * max(1, least)

    def draw() -> str:
        pictures = write_gif(path, _pictures(replay, every, round(HOLD * parsed.fps)), parsed.fps)
        return f"animation: {path}, {pictures} pictures, one every {every} ticks"

    return {"video": path, "video_every": every}, draw


# ---- within ----------------------------------------------------------------------------------------


def _pictures(replay: Replay, every: int, hold: int) -> Iterator[Image]:
    """Draw the game every so many ticks, the end ``hold`` times more; stderr says how far it has come."""
    config, line = replay.config, ProgressLine()
    scale = fitting_scale((config.height, config.width), BOARD_PIXELS)
    renderer = Renderer(config.num_players, names=replay.names, scale=scale, teams=replay.teams)
    for count, frame in enumerate(replay.frames(every), start=1):
        picture = _drawn(renderer, frame, replay)
        yield picture
        line.show(f"animation: {count} pictures, tick {frame.tick:,}")
    line.close()
    yield from repeat(picture, hold)


def _drawn(renderer: Renderer, frame: Frame, replay: Replay) -> Image:
    """Return a frame of a replay as a picture, uint8 (height, width, 3)."""
    return renderer.draw(frame.owner, frame.land, frame.troops, tick=frame.tick, terrain=replay.terrain)


def _tick(parsed: argparse.Namespace, replay: Replay) -> int:
    return replay.num_ticks if parsed.at is None else int(parsed.at)


def _differences(config: GameConfig) -> str:
    """Return the fields of rules that are not the defaults; size and map stand elsewhere."""
    default = GameConfig().to_dict()
    shown = {"height", "width", "num_players", "map", "map_seed"}
    values = config.to_dict()
    return ", ".join(
        f"{name}={values[name]}" for name in values if name not in shown and values[name] != default[name]
    )
