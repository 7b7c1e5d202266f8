"""turtle: takes free land in small bites and stays home; hits back, and spends only what would rot.

To beat it: hit it with several others at once, or while it answers somebody else.
"""

from __future__ import annotations

from typing import Any

from territorial._jit import njit
from territorial.bots.common import (
    HOLD_ALL,
    is_open,
    lowest_density,
    send,
    send_keeping,
    share,
    wins_lot,
)
from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.state import Game

NAME = "turtle"
INTERVAL = 70
NEUTRAL_PERCENT = 10
ANSWER_RESERVE = 80
OVERFLOW_ABOVE, OVERFLOW_RESERVE = 120, 100


@njit
def decide(game: Game, params: Params, p: int, memory: Any) -> tuple[int, int]:
    """Answer an attacker; else take free land; else, at 120 troops a cell, spend those above 100."""
    troops, land = game.troops[p], game.land[p]
    attacker = strongest_answerable(game, params, p)
    if attacker != HOLD_ALL:
        launch = send_keeping(game, params, p, attacker, troops // 2, ANSWER_RESERVE * land)
        if launch[0] != HOLD_ALL:
            return launch
    if is_open(game, params, p, NEUTRAL):
        return send(game, p, NEUTRAL, share(game, p, NEUTRAL_PERCENT))
    if troops < OVERFLOW_ABOVE * land:
        return HOLD_ALL, 0
    target = lowest_density(game, params, p)
    return send_keeping(game, params, p, target, troops, OVERFLOW_RESERVE * land)


@njit
def strongest_answerable(game: Game, params: Params, p: int) -> int:
    """Return the attacker with the largest pool among those weaker than ``p``, or HOLD_ALL."""
    best, best_pool = HOLD_ALL, 0
    for q in range(1, len(game.troops)):
        pool = game.pools[q, p]
        is_weaker = game.troops[q] + pool < game.troops[p]
        if pool > 0 and is_weaker and is_open(game, params, p, q):
            if pool > best_pool or (pool == best_pool and wins_lot(game, p, q, best)):
                best, best_pool = q, pool
    return best
