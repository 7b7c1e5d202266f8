"""What an environment tells of its agents beside observations: numbers, the same names at every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.engine import VecGame
from territorial.state import PLAYERS

COUNTS = ("alive", "land", "troops", "illegal", "raised", "bounced")
"""Whole numbers of the state that are told as they are."""

INFO_NAMES = (*COUNTS, "place", "tick")
"""The names of all numbers: counts, ``place`` (0.0 until it is known) and ``tick`` of the game."""

_COLUMNS = np.array([PLAYERS[name] for name in (*COUNTS, "place2")])


def agent_info(game: VecGame, seats: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    """Return new arrays (E, A) of what ``seats``, 1..P (E, A), are told, by ``INFO_NAMES``.

    All are int64 but ``place``, float64.
    """
    table = game.blocks.players.take(_COLUMNS, axis=1)
    if seats.shape[1] == game.config.num_players:
        told = table[..., 1:]  # of everybody: many times as quick as picking
    else:
        told = np.take_along_axis(table, seats[:, None], axis=2)
    info = {name: told[:, i] for i, name in enumerate(COUNTS)}
    tick = np.empty(seats.shape, np.int64)
    tick[:] = game.state.tick[:, None]
    return info | {"place": told[:, -1] / 2, "tick": tick}
