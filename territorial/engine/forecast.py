"""``Forecasts``: what launches would come to if all others held."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from territorial.constants import EXTERNAL_CODE, NEUTRAL
from territorial.engine.saved_game import SavedGame
from territorial.game.state import SEATING, State

MOST_DECISIONS = 30
"""For so many a forecast looks ahead, at most."""


class Forecasts:
    """Plays launches in copies of the games of a batch, in which nobody else launches.

    Args:
        state: that of the batch.
        config_digest: of the config of the batch.
        new_copy: returns a ``VecGame`` of this config with one game, which has begun, for the copies.

    """

    def __init__(self, state: State, config_digest: str, new_copy: Callable[[], Any]) -> None:
        self._state, self._config_digest = state, config_digest
        self._copy = cache(new_copy)  # made when it is first needed

    def __call__(self, k: int, seat: int, owner: int, fraction: int) -> dict[str, Any]:
        """Return what a launch of ``fraction``, 1024ths of the balance, comes to in game ``k``.

        It says how many ``ticks`` later the attack of ``seat`` on ``owner`` is over, or the game (``ends``),
        or ``MOST_DECISIONS`` have been played (``goes_on``). For that moment it says how many ``cells`` were
        taken from the owner, the ``troops`` at home, and whether the player ``is_alive`` and the owner
        ``falls``. The game is not changed, and the arguments are not checked.
        """
        copy = self.position(k)
        state, every = copy.state, copy.config.decision_every
        begun, taken = int(state.tick[0]), int(state.taken[0, seat, owner])
        launches = [(begun, seat, owner, fraction)]
        for tick in range(begun, begun + MOST_DECISIONS * every, every):
            copy.play(0, launches, min(tick + every, copy.config.max_ticks))
            launches = []
            if state.over[0] or not state.pools[0, seat, owner]:
                break
        return {
            "owner": owner,
            "ticks": int(state.tick[0]) - begun,
            "cells": int(state.taken[0, seat, owner]) - taken,
            "troops": int(state.troops[0, seat]),
            "ends": bool(state.over[0]),
            "goes_on": bool(state.pools[0, seat, owner] and not state.over[0]),
            "is_alive": bool(state.alive[0, seat]),
            "falls": bool(owner != NEUTRAL and not state.alive[0, owner]),
        }

    def position(self, k: int) -> Any:
        """Return a ``VecGame`` whose only game is a copy of game ``k``; the next call puts another one there.

        All seats are "external" there, where ``VecGame.change_seats`` lets others sit down.
        """
        copy = self._copy()
        copy.restore(0, saved_without_players(self._state, k, self._config_digest))
        return copy


def saved_without_players(state: State, k: int, config_digest: str) -> SavedGame:
    """Return game ``k`` with all seats "external", which needs no bots to go on."""
    blocks = State(*(block[k].copy() for block in state))
    blocks.seating[:], blocks.memory[:] = 0, 0
    blocks.seating[SEATING["seats"], 1:] = EXTERNAL_CODE
    return SavedGame(config_digest=config_digest, blocks=blocks, older_frames=np.zeros((0, 1, 1), np.uint64))
