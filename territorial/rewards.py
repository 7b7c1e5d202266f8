"""What a step was worth: land gained or lost, and the placement once it is known."""

from __future__ import annotations

from territorial._jit import njit
from territorial.state import NUM_LAND, OVER, Game


@njit
def reward(game: Game, p: int, land_before: int, was_alive: bool) -> float:
    """Return the reward of ``p`` for one environment step, a float of about -1 to 2.

    The change of the share of all land since ``land_before``, plus, at the player's own last step,
    1 - 2 * (place - 1) / (P - 1): 1 for the first, -1 for the last, zero in sum over all players.
    The dead get nothing.
    """
    if not was_alive:
        return 0.0
    gained = (game.land[p] - land_before) / game.clock[NUM_LAND]
    if is_finished(game, p):
        return gained + placement_reward(game.place2[p], len(game.alive) - 1)
    return gained


@njit
def is_finished(game: Game, p: int) -> bool:
    """Return whether nothing more can happen to ``p`` in this game."""
    return game.alive[p] == 0 or game.clock[OVER] != 0


@njit
def placement_reward(place2: int, num_players: int) -> float:
    """Return the value of a place, given as twice the place."""
    return 1.0 - (place2 - 2) / (num_players - 1)
