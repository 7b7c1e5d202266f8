"""metronome: strikes with the beat of the income, first at free land, then at the weakest neighbour.

To beat it: look stronger than its other neighbours, and strike when its troops are in the field.
"""

from __future__ import annotations

from typing import Any

from territorial._jit import njit
from territorial.bots.common import is_open, send, send_keeping, share, weakest
from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.state import TICK, Game

NAME = "metronome"
INTERVAL = 100
OPENING_TICKS, OPENING_PERCENT = 600, 40
LATER_PERCENT, SURPLUS_ABOVE = 10, 100
RESERVE = 60


@njit
def decide(game: Game, params: Params, p: int, memory: Any) -> tuple[int, int]:
    """Send 40 % in the opening, later the surplus over 100 a cell or 10 %; keep 60 a cell from players."""
    if game.clock[TICK] < OPENING_TICKS:
        amount = share(game, p, OPENING_PERCENT)
    else:
        surplus = game.troops[p] - SURPLUS_ABOVE * game.land[p]
        amount = max(surplus, share(game, p, LATER_PERCENT))
    if is_open(game, params, p, NEUTRAL):
        return send(game, p, NEUTRAL, amount)
    target = weakest(game, params, p)
    return send_keeping(game, params, p, target, amount, RESERVE * game.land[p])
