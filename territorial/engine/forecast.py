"""``forecast_of``: what a launch would come to if all others held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from territorial.constants import EXTERNAL_CODE, NEUTRAL
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import EXTERNAL, Seat
from territorial.engine.vec_game import VecGame
from territorial.game.state import SEATING, State
from territorial.observation.action_encoding import HOW_MUCH, WHAT, target_of_owner

NOBODY: Mapping[int, Seat] = MappingProxyType({})
MOST_DECISIONS = 30
"""For so many a forecast looks ahead, at most."""

Foresee = Callable[[int, int, VecGame], dict[str, Any]]
"""``foresee(owner, share, game)`` returns what a launch would come to: see ``forecast_of``."""


def forecast_of(game: VecGame, seat: int) -> Foresee:
    """Return a function that plays a launch of ``seat`` in a copy of game 0 while all others hold.

    ``foresee(owner, share, game)`` says, besides these two, how many ``ticks`` later the attack on ``owner``
    is over, or the game (``ends``), or ``MOST_DECISIONS`` have been played (``goes_on``). For that moment it
    says how many ``cells`` were taken from the owner, the ``troops`` at home, and whether the player
    ``is_alive`` and the owner ``falls``.
    """
    players = game.config.num_players
    copies = cache(partial(copies_of, game))  # made when they are first needed

    def foresee(owner: int, share: int, game: VecGame) -> dict[str, Any]:
        copy, actions = copies()(game), np.zeros((1, players, 2), np.int64)
        state, begun, taken = copy.state, int(game.state.tick[0]), int(game.state.taken[0, seat, owner])
        actions[0, seat - 1, [WHAT, HOW_MUCH]] = target_of_owner(owner, seat, players), share
        for _ in range(MOST_DECISIONS):
            copy.step(actions)
            actions[:] = 0
            if state.over[0] or not state.pools[0, seat, owner]:
                break
        return {
            "owner": owner,
            "share": share,
            "ticks": int(state.tick[0]) - begun,
            "cells": int(state.taken[0, seat, owner]) - taken,
            "troops": int(state.troops[0, seat]),
            "ends": bool(state.over[0]),
            "goes_on": bool(state.pools[0, seat, owner] and not state.over[0]),
            "is_alive": bool(state.alive[0, seat]),
            "falls": bool(owner != NEUTRAL and not state.alive[0, owner]),
        }

    return foresee


def copies_of(
    game: VecGame, players: Mapping[int, Seat] = NOBODY, *, observe: bool = False
) -> Callable[[VecGame], VecGame]:
    """Return a function that copies game 0 of ``game``, as it then stands, with other players.

    Every call puts another position into the same batch of one game. ``players``, by seat, have just sat down
    there; all other seats are "external". ``observe``: whether what agents observe is there, too.
    """
    seats = [players.get(seat, EXTERNAL) for seat in range(1, game.config.num_players + 1)]
    copy = VecGame(game.config, 1, seats=seats, autoreset="disabled", observe=observe)
    copy.reset(seeds=[int(game.state.seed[0])])
    names = copy.seats_of(0)
    sitting = {seat: names[seat - 1] for seat in players}

    def copy_of(game: VecGame) -> VecGame:
        copy.restore(0, _without_players(game.save(0)))
        if sitting:
            copy.change_seats(0, sitting)
        return copy

    return copy_of


def _without_players(saved: SavedGame) -> SavedGame:
    """Return a saved game with all seats "external", which needs no bots to go on."""
    blocks = State(*saved.blocks)
    seating, memory = np.zeros_like(blocks.seating), np.zeros_like(blocks.memory)
    seating[SEATING["seats"], 1:] = EXTERNAL_CODE
    return SavedGame(
        config_digest=saved.config_digest,
        blocks=blocks._replace(seating=seating, memory=memory),
        older_frames=saved.older_frames,
    )
