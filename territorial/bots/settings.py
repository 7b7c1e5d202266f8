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
(
    OPENING,  # ticks of the opening: from then on other shares are sent, and surpluses count
    FALL,  # thousandths by which the share sent falls with every launch; 0: it changes after the opening
    FREE,  # thousandths of the balance that are sent at free land, at first
    FREE_LATER,  # the same in the end
    FREE_SURPLUS,  # troops a cell above which at least all is sent at free land; 0: no such rule
    FREE_TOPS_UP,  # 1: sends at free land although a pool is there
    FREE_WAITS,  # 1: attacks no player while there is free land beside it
    KIND,  # DECIDES_BY_MOVES; LAUNCHES_AT_RANDOM: any legal launch, holding nine times in ten
    LEADER_SHARE,  # per cent of the land from which a leader is one worth minding
    FORGIVES,  # one part in so many of every grudge is forgiven at a decision; 0: holds none
    MOVES,  # the first column of the first move; the columns of a move count from its first
) = range(1, 12)

(
    ONLY,  # what a target must be, a sum of the conditions in territorial.bots.targets
    LIMIT,  # the number that those conditions compare with
    BY,  # what the best target is
    ELSE_BY,  # the same by another measure, which is used unless a draw of 0..99 is below BY_PERCENT
    BY_PERCENT,
    FROM,  # troops a cell from which the move is made
    SEND,  # thousandths of the balance that are sent at first; 0 is no move, AS_FREE those of FREE
    SEND_LATER,  # the same in the end
    SURPLUS,  # troops a cell above which at least all is sent; 0: no such rule
    KILL,  # sends at most so many per cent of what it takes to finish the target; 0: no such rule
    SPARES,  # 1: sends at most what kills a target that has less than an eighth of the own troops
    RESERVE,  # troops a cell that stay at home, less the launch tax and what rounding up to whole 1024ths
    # takes: under the usual rules at most 13 1024ths of the balance
    MOVE_SIZE,
) = range(13)
NUM_MOVES = 3

(
    FREE_AFTER_SECOND,  # 1: the second move goes before free land too
    LAUNCHES,  # launches so far, which a bot counts for itself: it begins with 0, and is no setting
    GIFT,  # thousandths of the balance that are given to an ally under attack; 0: nothing is
    GIFT_LIMIT,  # per cent of the ally's troops that must be in the field against it, or more
    GIFT_FROM,  # troops a cell from which something is given
    NUM_SETTINGS,
) = range(MOVES + NUM_MOVES * MOVE_SIZE, MOVES + NUM_MOVES * MOVE_SIZE + 6)
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
