#!/usr/bin/env python3
"""Times the pictures of a whole game of 32 bots on 256 x 256 cells, every step of it, on one core.

    python benchmarks/media/render_speed.py                  a minute
    python benchmarks/media/render_speed.py --size small     64 x 64 cells and 8 bots, in seconds

Exit code 1 if fewer than 200 pictures a second come with the board at three pixels per cell, labels and the
standings: 768 x 1152 pixels. A rate is the number of pictures over the time for all of them, the best of
three rounds. The result, with the machine and the versions, goes to benchmarks/results/render.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import goals, harness
from territorial.cli import options
from territorial.render import Renderer, TextRenderer, write_video

"""Pictures a second, at least, of the form that decides."""
DECIDES = "board x 3, labels, standings"
LIMIT = goals.bound("render", f"rates/{DECIDES}/per_s")
ROUNDS = 3
VIDEO_PICTURES = 100
RESULT = harness.RESULTS / "render.json"
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
    parsed = parse(argv)
    config = CONFIGS[parsed.size]
    seats = territorial.LINEUPS["mixed-1"].seats[:: 32 // config.num_players]
    moments = play(config, seats, parsed.seed)
    print(f"a game of {moments[-1].tick} ticks, {len(moments)} pictures", flush=True)
    result = report(parsed, config, seats, moments)
    harness.write(parsed.json, result)
    verdict = "good" if result["is_good"] else "NOT GOOD"
    print(f"{result['decides']}: {LIMIT} a second wanted: {verdict}; written to {parsed.json}")
    return 0 if result["is_good"] else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, CONFIGS)
    options.add_seed_option(parser, "seed of the game")
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


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
    """Return what makes a new drawer for each form that is timed."""
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


def size_of(drawn: Any) -> str:
    return f"{drawn.shape[0]} x {drawn.shape[1]} pixels" if hasattr(drawn, "shape") else "text"


def videos(num_players: int, seats: tuple[str, ...], moments: list[Moment]) -> dict[str, dict[str, float]]:
    """Return bytes and seconds of animations with 100 pictures of the whole game, 2 pixels per cell."""
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
            found[suffix] = {"seconds": time.perf_counter() - started, "bytes": path.stat().st_size}
            print(
                f"{suffix}: {found[suffix]['bytes']:,} bytes in {found[suffix]['seconds']:.1f} s", flush=True
            )
    return found


def report(
    parsed: argparse.Namespace,
    config: territorial.GameConfig,
    seats: tuple[str, ...],
    moments: list[Moment],
) -> dict[str, Any]:
    """Return the result as JSON would have it."""
    first, rates = moments[0], {}
    for form, make in forms(config.num_players, seats).items():
        drawn = make()(first.owner, first.land, first.troops, tick=first.tick)
        rates[form] = {"size": size_of(drawn), "per_s": rate(make, moments)}
        print(f"{form:32}{rates[form]['size']:>20}{rates[form]['per_s']:>10,.0f} a second", flush=True)
    return {
        "rules_version": territorial.RULES_VERSION,
        "config_digest": config.hexdigest,
        "size": parsed.size,
        "seed": parsed.seed,
        "pictures": len(moments),
        "rates": rates,
        "decides": DECIDES,
        "limit": LIMIT,
        "is_good": rates[DECIDES]["per_s"] >= LIMIT,
        "video_pictures": VIDEO_PICTURES,
        "videos": videos(config.num_players, seats, moments),
    }


if __name__ == "__main__":
    sys.exit(main())
