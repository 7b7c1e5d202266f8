"""novice: sends nearly everything, at free land or else at whoever is nearest, and is left with nothing.

To beat it: strike right after it has sent.
"""

from __future__ import annotations

from typing import Any

from territorial._jit import njit
from territorial.bots.common import is_open, nearest, send, share
from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.state import Game

NAME = "novice"
INTERVAL = 100
SENT_PERCENT = 98


@njit
def decide(game: Game, params: Params, p: int, memory: Any) -> tuple[int, int]:
    """Send 98 % at neutral land, else at the nearest neighbour."""
    target = NEUTRAL
    if not is_open(game, params, p, NEUTRAL):
        target = nearest(game, params, p)
    return send(game, p, target, share(game, p, SENT_PERCENT))
