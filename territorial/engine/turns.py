"""Whose turn it is to decide: the seats of a game, and those among them that have a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.bots.network import NetworkWork, decide_all, has_room, put_down, show_game
from territorial.bots.network_layers import CANDIDATE_WIDTH
from territorial.config import Params
from territorial.constants import FIRST_BOT_CODE
from territorial.engine.custom_bots import CustomTable
from territorial.engine.seats import FIRST_CUSTOM_CODE
from territorial.game.scratch import Work
from territorial.game.state import TICK, Game, Seating
from territorial.jit.decorators import ONE, ZERO, lowest_bit, njit


@njit
def seats_that_decide(game: Game, seating: Seating, word: int) -> Any:
    """Return which seats in a word of a set decide in this tick: all agents, and living bots at their turn.

    Without a branch, as most bots wait at most decision points.
    """
    seats, first, end = ZERO, max(1, 64 * word), min(64 * word + 64, len(game.alive))
    for p in range(np.uint64(first), np.uint64(end)):
        is_agent = seating.seats[p] < FIRST_BOT_CODE
        is_turn = (game.alive[p] != 0) & (game.clock[TICK] >= seating.wake[p])
        seats |= np.uint64(is_agent | is_turn) << (p & np.uint64(63))
    return seats


@njit
def is_network(custom: CustomTable, code: int) -> bool:
    """Return whether the bot with this seat code is a network."""
    return code >= FIRST_CUSTOM_CODE and custom.networks[code - FIRST_CUSTOM_CODE, CANDIDATE_WIDTH] > 0


@njit
def ask_game(
    game: Game,
    params: Params,
    work: Work,
    seating: Seating,
    custom: CustomTable,
    networks: NetworkWork,
    actions: Any,
    k: int,
) -> None:
    """Let the seats of game ``k`` wait for their networks, where it is their turn to decide.

    Where there is no room for more, those that wait decide; ``decide_all`` is left to the caller.
    """
    if game.clock[TICK] % params.decision_every != 0:
        return
    is_shown = False
    for word in range(game.active.shape[1]):
        seats = seats_that_decide(game, seating, word)
        while seats != ZERO:
            p = 64 * word + lowest_bit(seats)
            seats &= seats - ONE
            if is_network(custom, seating.seats[p]):
                if not is_shown:
                    show_game(game, params, networks)
                    is_shown = True
                if not has_room(networks.waiting):
                    decide_all(custom.networks, networks, actions)
                number = seating.seats[p] - FIRST_CUSTOM_CODE
                put_down(game, params, work.interest_rate, custom.networks, networks, number, k, p)
