"""Selects the owner that a rule-based bot attacks or gives to.

Only neighbours are attacked. The best has the least score, a fraction; equals draw lots.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.settings import (
    BY,
    BY_PERCENT,
    ELSE_BY,
    GRUDGES,
    KILL,
    LIMIT,
    ONLY,
    RESERVE,
)
from territorial.config import Params
from territorial.constants import NEUTRAL, STREAM_BOT_MOVE
from territorial.game.board import bounding_box
from territorial.game.formulas import draw, is_legal, largest_need, may_donate, need_for
from territorial.game.rules import death_cost
from territorial.game.state import FUTURE, NUM_LAND, TICK, Game, cells_of
from territorial.game.teams import are_allies_in, may_attack
from territorial.jit.decorators import ONE, ZERO, lowest_bit, njit

HOLD_ALL = -1
"""The target of a bot that does not launch."""

DRAWS = 512
"""Draws a bot may take at one decision: 0..P for ties between owners, further ones for its own use."""
FREE_DRAWS = 256
"""The first draw that is not used for ties."""

NOT_YET = 1
"""No own pool is there."""
KILLABLE = 2
"""What finishes it, or KILL per cent of that if it is more, can be sent (the launch tax aside)."""
WEAKER_ATTACKER = 4
"""Attacks, with less at home and in that pool together than is at home here."""
SHRUNK = 8
"""Has less than LIMIT per cent of its peak."""
THIN = 16
"""Has less than LIMIT per cent of the troops a cell that are here."""
SWARMED = 32
"""Others' pools against it are more than LIMIT per cent of its troops."""
HATED = 64
"""Took at least LIMIT cells that are not forgiven."""
WEAK_LEADER = 128
"""Leads, and is under attack or has less than LIMIT troops a cell."""
NO_HUNTER = 256
"""Does not attack the leader."""
NOT_LEADER = 512
"""Does not lead."""

WEAKNESSES = KILLABLE | SHRUNK | THIN | SWARMED
PERSONS = NOT_YET | WEAKER_ATTACKER | HATED | WEAK_LEADER | NO_HUNTER | NOT_LEADER

BY_DENSITY, BY_FORCE, BY_DISTANCE, BY_ATTACK, BY_DECLINE = 0, 1, 2, 3, 4
BY_GRUDGE, BY_BORDER, BY_LEAST_LAND, BY_MOST_LAND = 5, 6, 7, 8


class BotTurn(NamedTuple):
    """The bot that decides now, and the values that all its moves share."""

    p: int  # its seat
    memory: npt.NDArray[np.int32]  # (M,) what it was told and remembers: territorial.bots.settings
    leader: int  # who leads, if that is worth minding, or 0


@njit
def is_open(game: Game, params: Params, p: int, target: int) -> bool:
    """Return whether ``p`` may launch against ``target``, neutral land or an enemy."""
    if not may_attack(game, params, p, target):
        return False
    need = need_for(game.fronts[p, target], game.pools[p, target], params)
    return is_legal(need, largest_need(game.troops[p], params))


@njit
def bot_draw(game: Game, p: int, index: int) -> Any:
    """Return the draw number ``index`` (below DRAWS) of ``p`` at this decision, as uint64."""
    return draw(game.seed[FUTURE], STREAM_BOT_MOVE, game.clock[TICK], p * DRAWS + index)


@njit
def wins_lot(game: Game, p: int, challenger: int, holder: int) -> bool:
    """Return whether ``challenger`` beats ``holder`` in the lot that ``p`` draws between equals."""
    return bot_draw(game, p, challenger) < bot_draw(game, p, holder)


@njit
def choose(game: Game, params: Params, bot: BotTurn, move: int) -> int:
    """Return the best target of the move with the first column ``move``, or HOLD_ALL."""
    p, memory = bot.p, bot.memory
    by = memory[move + BY]
    if memory[move + BY_PERCENT] < 100:
        if bot_draw(game, p, FREE_DRAWS) % np.uint64(100) >= np.uint64(memory[move + BY_PERCENT]):
            by = memory[move + ELSE_BY]
    best, best_over, best_under = HOLD_ALL, 0, 1
    for word in range(game.bordering.shape[1]):
        neighbours = game.bordering[p, word]
        while neighbours != ZERO:
            q = 64 * word + lowest_bit(neighbours)
            neighbours &= neighbours - ONE
            if q != NEUTRAL and is_open(game, params, p, q) and suits(game, params, bot, q, move):
                over, under = score(game, bot, q, by)
                behind = over * best_under - best_over * under
                if best == HOLD_ALL or behind < 0 or (behind == 0 and wins_lot(game, p, q, best)):
                    best, best_over, best_under = q, over, under
    return best


@njit
def choose_ally(game: Game, params: Params, p: int, limit: int) -> int:
    """Return the ally, legal to give to, that is most attacked for its troops.

    HOLD_ALL if none has more than ``limit`` per cent of its troops in the field against it. An ally needs
    nothing that has as many troops a cell as ``p``, or is less under attack: giving in circles only loses.
    """
    troops, land = game.troops[p], game.land[p]
    best, best_over, best_under = HOLD_ALL, attack_on(game, p, p), troops + 1
    for q in range(1, len(game.land)):
        if not are_allies_in(game, p, q) or game.alive[q] == 0:
            continue
        attack, its_troops, its_land = attack_on(game, p, q), game.troops[q], game.land[q]
        is_attacked = 100 * attack > limit * its_troops
        is_poorer = its_troops * land < troops * its_land
        if is_attacked and is_poorer and may_donate(troops, its_troops, its_land, params):
            ahead = attack * best_under - best_over * (its_troops + 1)
            is_next = ahead == 0 and best != HOLD_ALL and wins_lot(game, p, q, best)
            if ahead > 0 or is_next:
                best, best_over, best_under = q, attack, its_troops + 1
    return best


@njit
def suits(game: Game, params: Params, bot: BotTurn, q: int, move: int) -> bool:
    """Return whether ``q`` is all that the move asks of a target."""
    only = bot.memory[move + ONLY]
    if only == 0:
        return True
    is_weak = only & WEAKNESSES == 0 or is_weak_enough(game, params, bot, q, move)
    is_person = only & PERSONS == 0 or is_the_one(game, bot, q, move)
    return is_weak and is_person


@njit
def is_weak_enough(game: Game, params: Params, bot: BotTurn, q: int, move: int) -> bool:
    """Return whether ``q`` meets the move's conditions on troops and land."""
    p, memory = bot.p, bot.memory
    only, limit = memory[move + ONLY], memory[move + LIMIT]
    troops, land, fits = game.troops[p], game.land[p], True
    if only & KILLABLE:
        price = kill_price(game, params, p, q) * max(100, memory[move + KILL]) // 100
        fits &= price <= troops - memory[move + RESERVE] * land
    if only & SHRUNK:
        fits &= 100 * game.land[q] < limit * game.peak[q]
    if only & THIN:
        fits &= game.troops[q] * land < troops * game.land[q] // 100 * limit
    if only & SWARMED:
        fits &= 100 * attack_on(game, p, q) > limit * game.troops[q]
    return fits


@njit
def is_the_one(game: Game, bot: BotTurn, q: int, move: int) -> bool:
    """Return whether ``q`` meets the move's conditions on identity and behaviour."""
    p, memory, leader = bot.p, bot.memory, bot.leader
    only, limit = memory[move + ONLY], memory[move + LIMIT]
    fits = True
    if only & NOT_YET:
        fits &= game.pools[p, q] == 0
    if only & WEAKER_ATTACKER:
        fits &= 0 < game.pools[q, p] < game.troops[p] - game.troops[q]
    if only & HATED:
        fits &= game.taken[q, p] - memory[GRUDGES + q] >= limit
    if only & WEAK_LEADER:
        is_weak = game.troops[q] < limit * game.land[q] or attack_on(game, p, q) > 0
        fits &= (q == leader) & is_weak
    if only & NO_HUNTER:
        fits &= (leader == 0) | (leader == p) | (game.pools[q, leader] == 0)
    if only & NOT_LEADER:
        fits &= q != leader
    return fits


@njit
def score(game: Game, bot: BotTurn, q: int, by: int) -> tuple[int, int]:
    """Return the two sides of a fraction that is the less, the better ``q`` is by the measure ``by``.

    All are equally good by a measure that there is not.
    """
    p = bot.p
    if by == BY_DENSITY:
        return game.troops[q], game.land[q]
    if by == BY_FORCE:
        return game.troops[q] + game.pools[q, p], 1
    if by == BY_DISTANCE:
        return distance(game, p, q), 1
    if by == BY_ATTACK:
        return -game.pools[q, p], 1
    if by == BY_DECLINE:
        return game.land[q], game.peak[q]
    if by == BY_GRUDGE:
        return bot.memory[GRUDGES + q] - game.taken[q, p], 1
    if by == BY_BORDER:
        return game.land[q], game.fronts[p, q]
    if by == BY_LEAST_LAND:
        return game.land[q], 1
    if by == BY_MOST_LAND:
        return -game.land[q], 1
    return 0, 1


@njit
def kill_price(game: Game, params: Params, p: int, q: int) -> int:
    """Return the approximate troops that ``p`` needs to kill ``q``, without interference."""
    return death_cost(game.troops[q], game.land[q], game.peak[q], game.pools[q, p], params)


@njit
def attack_on(game: Game, p: int, q: int) -> int:
    """Return the troops that others than ``p`` have in the field against ``q`` at its borders."""
    total = 0
    for word in range(game.bordering.shape[1]):
        neighbours = game.bordering[q, word]
        while neighbours != ZERO:
            r = 64 * word + lowest_bit(neighbours)
            neighbours &= neighbours - ONE
            total += game.pools[r, q] if r != p else 0
    return total


@njit
def distance(game: Game, p: int, q: int) -> int:
    """Return the square of twice the distance between the centres of the boxes around ``p`` and ``q``."""
    own, other = bounding_box(cells_of(game, p)), bounding_box(cells_of(game, q))
    down = own.top + own.bottom - other.top - other.bottom
    across = own.left + own.right - other.left - other.right
    return down * down + across * across


@njit
def leader_of(game: Game, p: int, percent: int) -> int:
    """Return the player with most land, drawing lots, or 0 if that is below ``percent`` of all land."""
    leader = 1
    for q in range(2, len(game.land)):
        ahead = game.land[q] - game.land[leader]
        if ahead > 0 or (ahead == 0 and wins_lot(game, p, q, leader)):
            leader = q
    return leader if 100 * game.land[leader] >= percent * game.clock[NUM_LAND] else 0
