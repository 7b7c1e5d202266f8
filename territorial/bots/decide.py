"""Decisions of the rule-based bots: up to three moves, chosen by settings.

A move looks for a target, and is made if there is one and enough to send. The first move goes before
free land, the third after it, the second as its settings say. In games with teams, a gift to an ally goes
before all of them. ``territorial.bots.settings`` has the columns.
"""

from typing import Any

import numpy as np

from territorial.bots.settings import (
    AS_FREE,
    FALL,
    FORGIVES,
    FREE,
    FREE_AFTER_SECOND,
    FREE_LATER,
    FREE_SURPLUS,
    FREE_TOPS_UP,
    FREE_WAITS,
    FROM,
    GIFT,
    GIFT_FROM,
    GIFT_LIMIT,
    GRUDGES,
    KILL,
    KIND,
    LAUNCHES,
    LAUNCHES_AT_RANDOM,
    LEADER_SHARE,
    MOVE_SIZE,
    MOVES,
    NUM_MOVES,
    OPENING,
    RESERVE,
    SEND,
    SEND_LATER,
    SPARES,
    SURPLUS,
)
from territorial.bots.targets import (
    FREE_DRAWS,
    HOLD_ALL,
    BotTurn,
    bot_draw,
    choose,
    choose_ally,
    is_open,
    kill_price,
    leader_of,
)
from territorial.config import Params
from territorial.constants import NEUTRAL, NUM_FRACTIONS
from territorial.game.formulas import fraction_for, need_for
from territorial.game.state import TICK, Game
from territorial.game.teams import has_allies
from territorial.jit.decorators import int64, njit
from territorial.observation.action_encoding import FRACTION_TABLE

HOLD_ONE_IN = 10


@njit
def decide(game: Game, params: Params, p: int, memory: Any) -> tuple[int, int]:
    """Return the launch (target, 1024ths) of the bot on seat ``p``, which decides now.

    ``target`` is an owner code or HOLD_ALL. The bot reads anything, as nothing in this game is hidden, and
    changes nothing but ``memory``, its row of whole numbers.
    """
    if memory[KIND] == LAUNCHES_AT_RANDOM:
        return launch_at_random(game, params, p)
    leader = leader_of(game, p, memory[LEADER_SHARE]) if memory[LEADER_SHARE] > 0 else 0
    target, fraction = best_launch(game, params, BotTurn(p, memory, leader))
    memory[LAUNCHES] += target != HOLD_ALL
    if memory[FORGIVES] > 0:
        forgive(game, p, memory)
    return target, fraction


@njit
def best_launch(game: Game, params: Params, bot: BotTurn) -> tuple[int, int]:
    """Return the first launch that can be made: a gift, then the moves in order, free land in between."""
    p, memory = bot.p, bot.memory
    if has_allies(params) and memory[GIFT] > 0 and game.troops[p] >= memory[GIFT_FROM] * game.land[p]:
        ally = choose_ally(game, params, p, memory[GIFT_LIMIT])
        if ally != HOLD_ALL:
            return send(game, p, ally, game.troops[p] * memory[GIFT] // 1000)
    for number in range(NUM_MOVES):
        if number == 1 + memory[FREE_AFTER_SECOND] and game.fronts[p, NEUTRAL] > 0 and memory[FREE] > 0:
            is_idle = memory[FREE_TOPS_UP] != 0 or game.pools[p, NEUTRAL] == 0
            if is_idle and is_open(game, params, p, NEUTRAL):
                amount = share(game, bot, memory[FREE], memory[FREE_LATER])
                return send(game, p, NEUTRAL, max(amount, surplus(game, bot, memory[FREE_SURPLUS])))
            if memory[FREE_WAITS] != 0:
                return HOLD_ALL, 0
        move = MOVES + number * MOVE_SIZE
        if memory[move + SEND] != 0 and game.troops[p] >= memory[move + FROM] * game.land[p]:
            target = choose(game, params, bot, move)
            if target != HOLD_ALL:
                amount = amount_for_player(game, params, bot, move, target)
                needed = need_for(game.fronts[p, target], game.pools[p, target], params)
                # What keeps nothing back may be raised to the need by the rules.
                if amount >= needed or memory[move + RESERVE] == 0:
                    return send(game, p, target, amount)
    return HOLD_ALL, 0


@njit
def amount_for_player(game: Game, params: Params, bot: BotTurn, move: int, target: int) -> int:
    """Return the troops that the move with the first column ``move`` sends at ``target``."""
    p, memory = bot.p, bot.memory
    troops, land = game.troops[p], game.land[p]
    first, later = memory[move + SEND], memory[move + SEND_LATER]
    if first == AS_FREE:
        first, later = memory[FREE], memory[FREE_LATER]
    amount = share(game, bot, first, later)
    amount = max(amount, surplus(game, bot, memory[move + SURPLUS]))
    if memory[move + KILL] > 0:
        amount = min(amount, kill_price(game, params, p, target) * memory[move + KILL] // 100)
    if memory[move + SPARES] != 0 and 8 * game.troops[target] < troops:
        amount = min(amount, max(22 * game.troops[target] // 10, troops // 10))
    return min(amount, troops - memory[move + RESERVE] * land)


@njit
def share(game: Game, bot: BotTurn, first: int, later: int) -> int:
    """Return the troops of a share, in thousandths, that is ``first`` at first and ``later`` in the end."""
    memory = bot.memory
    thousandths = first if game.clock[TICK] < memory[OPENING] else later
    if memory[FALL] > 0:
        thousandths = max(later, first - memory[FALL] * memory[LAUNCHES])
    return game.troops[bot.p] * thousandths // 1000


@njit
def surplus(game: Game, bot: BotTurn, per_cell: int) -> int:
    """Return the troops above ``per_cell``; 0 for no such rule, and in the opening."""
    if per_cell == 0 or game.clock[TICK] < bot.memory[OPENING]:
        return 0
    return max(0, game.troops[bot.p] - per_cell * game.land[bot.p])


@njit
def send(game: Game, p: int, target: int, amount: int) -> tuple[int, int]:
    """Return the launch of ``amount`` troops, rounded up to whole 1024ths of the balance, or hold."""
    troops = game.troops[p]
    if amount <= 0 or troops <= 0:
        return HOLD_ALL, 0
    return target, fraction_for(amount, troops)


@njit
def forgive(game: Game, p: int, memory: Any) -> None:
    """A part of every grudge, at least a cell, is forgiven."""
    for q in range(1, len(game.land)):
        grudge = game.taken[q, p] - memory[GRUDGES + q]
        memory[GRUDGES + q] += (grudge + memory[FORGIVES] - 1) // memory[FORGIVES]


@njit
def launch_at_random(game: Game, params: Params, p: int) -> tuple[int, int]:
    """Hold nine times in ten; else draw a target among the legal ones, and one of the ten fractions."""
    if bot_draw(game, p, FREE_DRAWS) % np.uint64(HOLD_ONE_IN) != np.uint64(0):
        return HOLD_ALL, 0
    count = 0
    for target in range(len(game.land)):
        count += is_open(game, params, p, target)
    if count == 0:
        return HOLD_ALL, 0
    chosen = int64(bot_draw(game, p, FREE_DRAWS + 1) % np.uint64(count))
    fraction = FRACTION_TABLE[int64(bot_draw(game, p, FREE_DRAWS + 2) % np.uint64(NUM_FRACTIONS))]
    for target in range(len(game.land)):
        if is_open(game, params, p, target):
            if chosen == 0:
                return target, fraction
            chosen -= 1
    return HOLD_ALL, 0
