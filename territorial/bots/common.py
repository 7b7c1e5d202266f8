"""What bots share: looking at the neighbours, choosing one, and turning an amount into a launch.

A bot is a function ``decide(game, params, p, memory) -> (target, fraction)`` in a file of its own,
compiled into the engine. ``target`` is an owner code or HOLD_ALL, ``fraction`` in 1024ths of the
balance. It reads anything (nothing in this game is hidden) and writes only ``memory``, BOT_MEMORY
whole numbers of its own that are zero at the start of a game.
"""

from __future__ import annotations

from typing import Any

from territorial._jit import njit
from territorial.board import bounding_box
from territorial.config import Params
from territorial.constants import FRACTION_UNIT, STREAM_BOT_MOVE
from territorial.rng import draw
from territorial.rules import need_for
from territorial.state import TICK, Game

HOLD_ALL = -1
"""The target of a bot that does not launch."""

DRAWS = 512
"""Draws a bot may take at one decision: 0..P for ties between owners, further ones for its own use."""
FREE_DRAWS = 256
"""The first draw that is not used for ties."""

MOST = 2**62


@njit
def is_open(game: Game, params: Params, p: int, target: int) -> bool:
    """Return whether ``p`` may launch against ``target``."""
    need = need_for(game.fronts[p, target], game.pools[p, target], params)
    return 0 < need <= game.troops[p] // params.need_divisor


@njit
def bot_draw(game: Game, p: int, index: int) -> Any:
    """Return the draw number ``index`` (below DRAWS) of ``p`` at this decision, as uint64."""
    return draw(game.seed[0], STREAM_BOT_MOVE, game.clock[TICK], p * DRAWS + index)


@njit
def least(game: Game, params: Params, p: int, numerators: Any, denominators: Any) -> int:
    """Return the open neighbour with the least numerator / denominator, or HOLD_ALL; ties by lot."""
    best = HOLD_ALL
    for q in range(1, len(game.troops)):
        if is_open(game, params, p, q):
            if best == HOLD_ALL:
                best = q
            else:
                difference = numerators[q] * denominators[best] - numerators[best] * denominators[q]
                if difference < 0 or (difference == 0 and wins_lot(game, p, q, best)):
                    best = q
    return best


@njit
def wins_lot(game: Game, p: int, challenger: int, holder: int) -> bool:
    """Return whether ``challenger`` beats ``holder`` in the lot that ``p`` draws between equals."""
    return bot_draw(game, p, challenger) < bot_draw(game, p, holder)


@njit
def lowest_density(game: Game, params: Params, p: int) -> int:
    """Return the open neighbour with the fewest troops per cell, or HOLD_ALL."""
    return least(game, params, p, game.troops, game.land)


@njit
def weakest(game: Game, params: Params, p: int) -> int:
    """Return the open neighbour with the least T + pool against ``p``, or HOLD_ALL."""
    best, best_force = HOLD_ALL, MOST
    for q in range(1, len(game.troops)):
        if is_open(game, params, p, q):
            force = game.troops[q] + game.pools[q, p]
            if force < best_force or (force == best_force and wins_lot(game, p, q, best)):
                best, best_force = q, force
    return best


@njit
def nearest(game: Game, params: Params, p: int) -> int:
    """Return the open neighbour whose bounding box has the nearest centre, or HOLD_ALL."""
    top, bottom, left, right = bounding_box(game.planes, game.spans, p)
    best, best_distance = HOLD_ALL, MOST
    for q in range(1, len(game.troops)):
        if is_open(game, params, p, q):
            box = bounding_box(game.planes, game.spans, q)
            down, across = top + bottom - box[0] - box[1], left + right - box[2] - box[3]
            distance = down * down + across * across
            if distance < best_distance or (distance == best_distance and wins_lot(game, p, q, best)):
                best, best_distance = q, distance
    return best


@njit
def share(game: Game, p: int, percent: int) -> int:
    """Return ``percent`` of the balance of ``p``, in troops."""
    return game.troops[p] * percent // 100


@njit
def send(game: Game, p: int, target: int, amount: int) -> tuple[int, int]:
    """Return the launch of ``amount`` troops (rounded up to whole 1024ths of the balance), or hold."""
    troops = game.troops[p]
    if target == HOLD_ALL or amount <= 0 or troops <= 0:
        return HOLD_ALL, 0
    fraction = (amount * FRACTION_UNIT + troops - 1) // troops
    return target, max(1, min(fraction, FRACTION_UNIT))


@njit
def send_keeping(
    game: Game, params: Params, p: int, target: int, amount: int, reserve: int
) -> tuple[int, int]:
    """Return the launch of ``amount``, or less so that ``reserve`` troops stay at home; else hold.

    Holds also where the need would raise the launch above what may be sent.
    """
    if target == HOLD_ALL:
        return HOLD_ALL, 0
    sent = min(amount, game.troops[p] - reserve)
    if sent < need_for(game.fronts[p, target], game.pools[p, target], params):
        return HOLD_ALL, 0
    return send(game, p, target, sent)
