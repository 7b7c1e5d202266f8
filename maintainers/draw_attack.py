#!/usr/bin/env python3
"""Draws docs/images/attack.png: an attack on a player, before it, while it takes land, and at its end.

    python maintainers/draw_attack.py

Two players share a small map. Blue spends all of its troops on an attack. Red has
saved up, and then sends half of its own. Needs matplotlib.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np

import territorial
from territorial.typing import Ints

mpl.use("Agg")
from matplotlib import pyplot as plt

TARGET = Path(__file__).parents[1] / "docs" / "images" / "attack.png"
CONFIG = territorial.GameConfig(height=22, width=34, num_players=2, map="open", decision_every=1)
SEED = 4
NEUTRAL, ENEMY = 1, 3
"""Targets of launches, in the first part of an action."""
EIGHTH, HALF, ALL = 4, 7, 9
"""Numbers of fractions."""
GROWN, SPENT, LAUNCHED = 300, 460, 500
"""Ticks until which both take free land, at which blue spends all, and at which red attacks."""
SHOWN = (15, 30)
"""Ticks after the launch at which the board is drawn; more pictures are of before it and of its end."""
COLORS = ((245, 243, 236), (214, 69, 32), (25, 100, 196))


class AttackMoment(NamedTuple):
    """A board, and what the attacker has."""

    tick: int
    owner: Ints  # (H, W)
    home: tuple[int, int]
    pool: int


def main() -> int:
    """Draw it."""
    moments = list(attack())
    figure, panels = plt.subplots(2, len(moments) // 2, figsize=(9, 7.2), layout="constrained")
    for axes, moment in zip(panels.flat, moments, strict=True):
        axes.imshow(np.array(COLORS, np.uint8)[moment.owner], interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        red, blue = moment.home
        axes.set_title(f"tick {moment.tick}", loc="left", fontsize=13)
        about = f"red: {red:,} troops at home, {moment.pool:,} on the way\nblue: {blue:,} troops at home"
        axes.set_xlabel(about, fontsize=13)
    figure.savefig(TARGET, dpi=80)
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
    return 0


def attack() -> Iterator[AttackMoment]:
    """Play the game; yield its moments."""
    game = territorial.VecGame(CONFIG, 1, seats=["agent"] * 2, autoreset="disabled", observe=False)
    game.reset(seeds=[SEED])
    holds = np.zeros((1, 2, 2), np.int64)
    while (tick := int(game.state.tick[0])) < LAUNCHED:
        grows = tick < GROWN and tick % 20 == 0
        if grows:
            game.step(np.array([[[NEUTRAL, EIGHTH]] * 2]))
        else:
            game.step(np.array([[[0, 0], [ENEMY, ALL]]]) if tick == SPENT else holds)
    yield moment_of(game)
    game.step(np.array([[[ENEMY, HALF], [0, 0]]]))
    for ticks in SHOWN:
        while game.state.tick[0] <= LAUNCHED + ticks:
            game.step(holds)
        yield moment_of(game)
    while game.state.pools.any():
        game.step(holds)
    yield moment_of(game)


def moment_of(game: territorial.VecGame) -> AttackMoment:
    """Return what there is now."""
    state = game.state
    home = int(state.troops[0, 1]), int(state.troops[0, 2])
    return AttackMoment(
        int(state.tick[0]), state.owner[0, 1:-1, 1:-1].copy(), home, int(state.pools[0, 1].sum())
    )


if __name__ == "__main__":
    sys.exit(main())
