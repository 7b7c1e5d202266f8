"""banker: grows on small launches, saves up, and spends it all at once where the defence is thinnest.

To beat it: attack while it saves; it never answers, and only looks at densities.
"""

from __future__ import annotations

from typing import Any

from territorial._jit import njit
from territorial.bots.common import HOLD_ALL, is_open, lowest_density, send, send_keeping, share
from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.state import TICK, Game

NAME = "banker"
INTERVAL = 100
OPENING_TICKS, OPENING_PERCENT, LATER_PERCENT = 300, 8, 12
STRIKE_ABOVE, RESERVE = 95, 70


@njit
def decide(game: Game, params: Params, p: int, memory: Any) -> tuple[int, int]:
    """Send 8 %, later 12 %, at free land; without any, all above 70 a cell once there are 95 a cell."""
    troops, land = game.troops[p], game.land[p]
    if game.fronts[p, NEUTRAL] > 0:
        if not is_open(game, params, p, NEUTRAL):
            return HOLD_ALL, 0
        is_opening = game.clock[TICK] < OPENING_TICKS
        return send(game, p, NEUTRAL, share(game, p, OPENING_PERCENT if is_opening else LATER_PERCENT))
    if troops < STRIKE_ABOVE * land:
        return HOLD_ALL, 0
    target = lowest_density(game, params, p)
    return send_keeping(game, params, p, target, troops - RESERVE * land, RESERVE * land)
