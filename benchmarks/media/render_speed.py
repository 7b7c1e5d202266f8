#!/usr/bin/env python3
"""Times pictures of every step of a game on one core.

    python benchmarks/media/render_speed.py                  a minute
    python benchmarks/media/render_speed.py --size small     64 x 64 cells and 8 bots, in seconds

Exit code 1 if fewer than LIMIT pictures a second come with the board at three pixels per cell, labels and the
standings: 768 x 1152 pixels. A rate is the number of pictures over the time for all of them, the best of
three rounds. Animations have 100 pictures of the game, two pixels per cell.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import harness
from territorial.cli import options
from territorial.render import Renderer, TextRenderer, write_video

DECIDES, LIMIT = "board x 3, labels, standings", 200
"""The form that decides, and how many pictures of it a second come at least."""
ROUNDS = 3
VIDEO_PICTURES = 100
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=1500),
}


class Moment(NamedTuple):
    """A game at some tick."""

    tick: int
    owner: npt.NDArray[np.uint8]
    land: npt.NDArray[np.int64]
    troops: npt.NDArray[np.int64]


Draw = Callable[..., Any]


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_size(parser, CONFIGS)
    options.add_seed_option(parser, "seed of the game")
    parsed = parser.parse_args(argv)
    config = CONFIGS[parsed.size]
    seats = territorial.LINEUPS["mixed-1"].seats[:: 32 // config.num_players]
    moments = play(config, seats, parsed.seed)
    print(f"a game of {moments[-1].tick} ticks, {len(moments)} pictures", flush=True)
    rates = {}
    for form, make in forms(config.num_players, seats).items():
        rates[form] = rate(make, moments)
        print(f"{form:32}{rates[form]:10,.0f} a second", flush=True)
    animations = videos(config.num_players, seats, moments)
    harness.write(parsed.json, {"size": parsed.size, "per_s": rates, "videos": animations})
    return int(parsed.size == "full" and rates[DECIDES] < LIMIT)


def play(config: territorial.GameConfig, seats: tuple[str, ...], seed: int) -> list[Moment]:
    """Play a game to its end and keep every step of it."""
    game = territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[seed])
    moments = [moment(game)]
    while not game.state.over[0]:
        game.step()
        moments.append(moment(game))
    return moments


def moment(game: territorial.VecGame) -> Moment:
    state = game.state
    owner = state.owner[0, 1:-1, 1:-1].copy()
    return Moment(int(state.tick[0]), owner, state.land[0, 1:].copy(), state.troops[0, 1:].copy())


def forms(num_players: int, seats: tuple[str, ...]) -> dict[str, Callable[[], Draw]]:
    """Return what makes a new renderer for each form that is timed."""
    return {
        DECIDES: lambda: Renderer(num_players, names=seats, scale=3).draw,
        "board x 2, labels, standings": lambda: Renderer(num_players, names=seats, scale=2).draw,
        "board x 3, labels": lambda: Renderer(num_players, names=seats, scale=3, panel=False).draw,
        "board x 3": lambda: Renderer(num_players, scale=3, labels=False, panel=False).draw,
        "text, 80 columns, 24 bits": lambda: TextRenderer(num_players, names=seats, colors="24bit").draw,
        "text, 80 columns, no colours": lambda: TextRenderer(num_players, names=seats, colors="none").draw,
    }


def rate(make: Callable[[], Draw], moments: list[Moment]) -> float:
    """Return pictures a second, the best of some rounds over the whole game."""
    seconds = []
    for _ in range(ROUNDS):
        draw = make()
        started = time.perf_counter()
        for tick, owner, land, troops in moments:
            draw(owner, land, troops, tick=tick)
        seconds.append(time.perf_counter() - started)
    return len(moments) / min(seconds)


def videos(num_players: int, seats: tuple[str, ...], moments: list[Moment]) -> dict[str, dict[str, float]]:
    """Return and print bytes and seconds of animations."""
    chosen = [moments[len(moments) * i // VIDEO_PICTURES] for i in range(VIDEO_PICTURES)]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("apng", "gif", "mp4"):
            path = Path(folder) / f"game.{suffix}"
            draw = Renderer(num_players, names=seats, scale=2).draw
            started = time.perf_counter()
            try:
                write_video((draw(m.owner, m.land, m.troops, tick=m.tick) for m in chosen), path)
            except ImportError as error:
                print(f"not timed: {error}")
                continue
            seconds, nbytes = time.perf_counter() - started, path.stat().st_size
            found[suffix] = {"seconds": seconds, "bytes": nbytes}
            print(f"{suffix}: {nbytes:,} bytes in {seconds:.1f} s", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
