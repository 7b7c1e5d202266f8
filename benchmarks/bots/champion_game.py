#!/usr/bin/env python3
"""Draws how a player plays: a game at full size at five ticks, and the land of all seats.

    python benchmarks/bots/champion_game.py champion --seed 1      docs/images/champion-game.png
    python benchmarks/bots/champion_game.py net:runs/pairs/network.safetensors --seed 3 --file look.png

Two of the 32 seats are its own, the others are of the line-up mixed-2, on a map of the examinations. Its
land is in two strong colours, that of others in grey. ``--replay`` writes the game as a replay, too, which
``territorial replay`` shows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bots.exam_games import EXAM_SEED, FULL, LINEUP, OWN, Examined, lineup
from territorial.bots.bot_files import bot_of_file, is_bot_file
from territorial.cli import options
from territorial.constants import BLOCKED
from territorial.engine.seats import name_of
from territorial.engine.vec_game import VecGame
from territorial.evaluation.charts import check_matplotlib
from territorial.files.atomic import draft_of
from territorial.replay.recorder import Recorder
from territorial.typing import Floats, Ints

PICTURE = Path(__file__).parents[2] / "docs/images/champion-game.png"
SHOWN = (0.02, 0.08, 0.25, 0.6, 1.0)
"""Parts of the game after which its board is drawn."""
OWN_COLORS = ((214, 69, 32), (25, 100, 196))
FREE, WATER = (245, 243, 236), (190, 205, 216)
LIGHTEST, DARKEST = 225, 135
"""Greys of other seats."""
EVERY = 10
"""Ticks from one note of land to the next."""


class PlayedGame(NamedTuple):
    """A game of P seats, noted N times; the seats of the player come first in ``order``."""

    names: list[str]
    """By seat."""
    own: list[int]
    """Seats of the player, from 1 on."""
    ticks: Ints  # (N,)
    land: Floats  # (N, P), shares of all land
    boards: list[Ints]
    """N boards of owner codes."""
    places: Floats  # (P,)
    replay: Any


def main(argv: list[str] | None = None) -> int:
    """Play, draw, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("player", help="whose game to draw: a name, net:FILE or style:FILE")
    parser.add_argument(
        "--seed",
        type=options.whole(0, 10**6),
        default=0,
        help="random seed; which game of the examination (default %(default)s)",
    )
    parser.add_argument("--file", type=Path, default=PICTURE, help="picture to write (default %(default)s)")
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="record the game in FILE, a few KB for `territorial replay`",
    )
    parsed = parser.parse_args(argv)
    player = bot_of_file("player", parsed.player) if is_bot_file(parsed.player) else parsed.player
    played = play(player, EXAM_SEED + parsed.seed)
    if parsed.replay is not None:
        played.replay.save(parsed.replay)
    draw(played, parsed.file)
    own = ", ".join(f"{played.places[seat - 1]:g}" for seat in played.own)
    print(f"{parsed.file}: a game of {played.ticks[-1]:,} ticks, places {own}")
    return 0


def play(player: Examined, seed: int) -> PlayedGame:
    """Return the game of ``seed``."""
    rng = np.random.default_rng(seed)
    count = FULL.num_players
    sitting = [*[player] * OWN, *lineup(LINEUP)(count - OWN, rng)]
    order = rng.permutation(count)
    game = VecGame(FULL, 1, seats=[sitting[i] for i in order], autoreset="disabled", observe=False)
    replays: list[Any] = []
    ticks, land, boards = [], [], []
    with Recorder(game, lambda _, replay: replays.append(replay)):
        game.reset(seeds=[seed])
        all_land = int((game.state.owner[0, 1:-1, 1:-1] != BLOCKED).sum())
        while True:
            boards.append(game.state.owner[0, 1:-1, 1:-1].copy())
            ticks.append(int(game.state.tick[0]))
            land.append(game.state.land[0, 1:] / all_land)
            if game.state.over[0]:
                break
            game.step(repeat=EVERY // FULL.decision_every)
    own = [int(np.flatnonzero(order == i)[0]) + 1 for i in range(OWN)]
    names = [name_of(sitting[i]) for i in order]
    places = game.state.place2[0, 1:] / 2
    return PlayedGame(names, own, np.array(ticks), np.array(land), boards, places, replays[0])


def draw(played: PlayedGame, path: Path) -> None:
    """Draw boards at five ticks, and the land of all seats."""
    plt = check_matplotlib()
    figure, axes = plt.subplots(2, 3, figsize=(13.2, 9.2), layout="constrained")
    colors = colors_of(played)
    noted = [int(np.searchsorted(played.ticks, part * played.ticks[-1])) for part in SHOWN]
    for place, axis in zip(noted, axes.flat, strict=False):
        axis.imshow(colors[played.boards[place]], interpolation="nearest")
        axis.set_xticks([])
        axis.set_yticks([])
        own = " and ".join(f"{played.land[place, seat - 1]:.0%}" for seat in played.own)
        axis.set_title(f"tick {played.ticks[place]:,}: {own} of the land")
    curves(played, axes.flat[-1])
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(path) as draft:
        figure.savefig(draft, dpi=80, format="png")
    plt.close(figure)


def curves(played: PlayedGame, axis: Any) -> None:
    """Draw the land of every seat over ticks."""
    for seat in range(1, len(played.names) + 1):
        if seat not in played.own:
            axis.plot(played.ticks, 100 * played.land[:, seat - 1], color="0.72", linewidth=0.8)
    for seat, color in zip(played.own, OWN_COLORS, strict=True):
        label = f"{played.names[seat - 1]}, place {played.places[seat - 1]:g}"
        share = 100 * played.land[:, seat - 1]
        axis.plot(played.ticks, share, color=np.array(color) / 255, linewidth=2.2, label=label)
    axis.plot([], [], color="0.72", label="each of the other seats")
    axis.set_title("land over the game")
    axis.set_xlabel("tick")
    axis.set_ylabel("% of all land")
    axis.set_ylim(0)
    axis.legend(frameon=False)


def colors_of(played: PlayedGame) -> Ints:
    """Return the colour of every owner code, uint8 (256, 3)."""
    colors = np.zeros((256, 3), np.uint8)
    colors[0], colors[BLOCKED] = FREE, WATER
    count = len(played.names)
    steps = np.random.default_rng(0).permutation(count)  # neighbours seldom have the same grey
    for seat in range(1, count + 1):
        colors[seat] = round(DARKEST + (LIGHTEST - DARKEST) * steps[seat - 1] / count)
    for seat, color in zip(played.own, OWN_COLORS, strict=True):
        colors[seat] = color
    return colors


if __name__ == "__main__":
    sys.exit(main())
