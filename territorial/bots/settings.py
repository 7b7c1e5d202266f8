"""Settings of bots: columns of whole numbers, drawn per seat and game.

A seat's settings are the first numbers of the bot's memory, so the kernel that decides reads one row and
does not know styles. Columns are append-only: a column's number is the draw that a seat's value comes from.
"""

from typing import Any

from territorial.constants import STREAM_BOT_SETUP
from territorial.game.formulas import draw_below
from territorial.game.state import BOT_MEMORY
from territorial.jit.decorators import njit
from territorial.jit.simd import fill

INTERVAL = 0
"""Ticks from one decision to the next."""
OPENING = 1
"""Ticks of the opening: from then on other shares are sent, and surpluses count."""
FALL = 2
"""Thousandths by which the share sent falls with every launch; 0: it changes after the opening instead."""
FREE, FREE_LATER = 3, 4
"""Thousandths of the balance that are sent at free land, at first and in the end."""
FREE_SURPLUS = 5
"""Troops a cell above which at least all is sent at free land; 0: no such rule."""
FREE_TOPS_UP = 6
"""1: sends at free land although a pool is there."""
FREE_WAITS = 7
"""1: attacks no player while there is free land beside it."""
KIND = 8
"""0: decides by its moves. 1: any legal launch, holding nine times in ten."""
LEADER_SHARE = 9
"""Per cent of the land from which a leader is one worth minding."""
FORGIVES = 10
"""One part in so many of every grudge is forgiven at a decision; 0: holds none."""
MOVES = 11
"""The first column of the first move; the columns of a move count from its first."""

ONLY = 0
"""What a target must be, a sum of the conditions in territorial.bots.targets."""
LIMIT = 1
"""The number that those conditions compare with."""
BY, ELSE_BY, BY_PERCENT = 2, 3, 4
"""What the best target is; by another measure unless a draw of 0..99 is below the third number."""
FROM = 5
"""Troops a cell from which the move is made."""
SEND, SEND_LATER = 6, 7
"""Thousandths of the balance that are sent, at first and in the end; 0 is no move, AS_FREE those of FREE."""
SURPLUS = 8
"""Troops a cell above which at least all is sent; 0: no such rule."""
KILL = 9
"""Sends at most so many per cent of what it takes to finish the target; 0: no such rule."""
SPARES = 10
"""1: sends at most what kills a target that has less than an eighth of the own troops."""
RESERVE = 11
"""Troops a cell that stay at home, less the launch tax and what rounding up to whole 1024ths takes: under
the usual rules at most 13 1024ths of the balance."""
MOVE_SIZE, NUM_MOVES = 12, 3

FREE_AFTER_SECOND = MOVES + NUM_MOVES * MOVE_SIZE
"""1: the second move goes before free land too."""

LAUNCHES = FREE_AFTER_SECOND + 1
"""Launches so far, which a bot counts for itself: it begins with 0, and is no setting."""
GIFT = LAUNCHES + 1
"""Thousandths of the balance that are given to an ally under attack; 0: nothing is."""
GIFT_LIMIT = LAUNCHES + 2
"""Per cent of the ally's troops that must be in the field against it, or more."""
GIFT_FROM = LAUNCHES + 3
"""Troops a cell from which something is given."""
NUM_SETTINGS = GIFT_FROM + 1
GRUDGES = BOT_MEMORY
"""From here on one number an owner: the cells it took that are forgiven."""

DECIDES_BY_MOVES, LAUNCHES_AT_RANDOM = 0, 1
AS_FREE = -1
"""Instead of the shares of a move: it sends those that the seat drew for free land."""


@njit
def draw_settings(lows: Any, highs: Any, seed: Any, p: int, memory: Any) -> None:
    """The bot of seat ``p`` forgets everything, and its settings are drawn from lows..highs."""
    fill(memory, 0)
    for column in range(NUM_SETTINGS):
        memory[column] = lows[column]
        if highs[column] > lows[column]:
            choices = highs[column] - lows[column] + 1
            memory[column] += draw_below(choices, seed, STREAM_BOT_SETUP, p, 1 + column)


@njit
def first_wake(memory: Any, seed: Any, p: int) -> int:
    """Return the tick of a bot's first decision: a phase of its clock drawn from the game's seed."""
    return draw_below(memory[INTERVAL], seed, STREAM_BOT_SETUP, p, 0)
