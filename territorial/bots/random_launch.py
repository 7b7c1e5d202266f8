"""random: any legal launch, as likely as any other; holds nine times in ten. Beaten by anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import int64, njit
from territorial.bots.common import FREE_DRAWS, HOLD_ALL, bot_draw, is_open
from territorial.config import Params
from territorial.constants import FRACTIONS, NUM_FRACTIONS
from territorial.state import Game

NAME = "random"
INTERVAL = 1
HOLD_ONE_IN = 10
CHOICES = np.array(FRACTIONS, np.int64)


@njit
def decide(game: Game, params: Params, p: int, memory: Any) -> tuple[int, int]:
    """Hold nine times in ten; else draw a target among the legal ones, and one of the ten fractions."""
    if bot_draw(game, p, FREE_DRAWS) % np.uint64(HOLD_ONE_IN) != np.uint64(0):
        return HOLD_ALL, 0
    count = 0
    for target in range(len(game.land)):
        count += is_open(game, params, p, target)
    if count == 0:
        return HOLD_ALL, 0
    chosen = int64(bot_draw(game, p, FREE_DRAWS + 1) % np.uint64(count))
    fraction = CHOICES[int64(bot_draw(game, p, FREE_DRAWS + 2) % np.uint64(NUM_FRACTIONS))]
    for target in range(len(game.land)):
        if is_open(game, params, p, target):
            if chosen == 0:
                return target, fraction
            chosen -= 1
    return HOLD_ALL, 0
