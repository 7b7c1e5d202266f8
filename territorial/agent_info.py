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


def agent_info(
    game: VecGame, games: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[Any]]:
    """Return new arrays of the shape of ``games`` and ``seats`` (1..P), by ``INFO_NAMES``.

    All are int64 but ``place``, float64.
    """
    told = game.blocks.players[games, _COLUMNS.reshape(-1, *[1] * seats.ndim), seats]
    info = dict(zip(COUNTS, told, strict=False))
    return info | {"place": told[-1] / 2, "tick": game.state.tick[games]}
