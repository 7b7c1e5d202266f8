"""Front sizes of all pairs, kept current at every capture, for a tenth of what counting them anew costs.

``game.fronts[p, t]`` is the number of cells of owner t beside cells of player p; neutral land has no
fronts of its own (row 0 is zero). When ``taker`` takes the cells F from ``giver``, only this changes:

- The taker now also touches the cells beside F that it did not touch before: ``gained``.
- The giver no longer touches the cells beside F that it touched through F alone.
- Whoever touches a cell of F touched the giver there and touches the taker now.

All of it lies in the *zone*, the blocks with cells of F or beside F, and concerns only those who border
the giver. While it is counted, F is nobody's: the giver has lost it and the taker not got it yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, ZERO, lowest_bit, njit
from territorial._words import eight, no_cells, put, rows_in, total, with_counts
from territorial.board import (
    beside,
    block_of,
    blocks_beside,
    first_row,
    front_size,
    gain_front,
    have_common,
    lose_front,
)
from territorial.changes import note_changes
from territorial.constants import NEUTRAL
from territorial.state import Game
from territorial.work import Work


@njit
def count_fronts(game: Game) -> None:
    """Count all fronts from the board as it stands."""
    for p in range(1, len(game.land)):
        for target in range(len(game.land)):
            size = front_size(game.planes, game.occupied, p, target) if target != p else 0
            add(game, p, target, size - game.fronts[p, target])
    mark_all(game)


@njit
def take_front_counted(game: Game, work: Work, taker: int, giver: int, size: int) -> None:
    """Move ``work.front``, ``size`` cells, from ``giver`` to ``taker``; all fronts follow."""
    cells, blocks = game.planes[giver], game.occupied[giver]
    lose_front(cells, blocks, work.front, work.front_blocks, work.zone, work.all_blocks)
    has_others = follow_both(game, work, taker, giver, size)
    if has_others:
        for word in range(game.bordering.shape[1]):
            neighbours = game.bordering[giver, word]
            while neighbours != ZERO:
                q = 64 * word + lowest_bit(neighbours)
                if q != taker and have_common(work.others, game.occupied[q]):
                    follow_neighbour(game, work, taker, giver, q)
                neighbours &= neighbours - ONE
    note_changes(work, work.front, work.front_blocks, giver, taker)
    gain_front(game.planes, game.occupied, taker, work.front, work.front_blocks)


@njit
def follow_both(game: Game, work: Work, taker: int, giver: int, size: int) -> bool:
    """Change the fronts between ``taker`` and ``giver``; return whether others have cells beside the front.

    Writes the sets of cells that ``follow_neighbour`` looks at, as far as the zone goes: ``gained``, those
    beside the front that the taker does not touch yet; ``lost``, those beside it that the giver will touch
    no more (nobody touches from neutral land); and ``others``, the blocks with cells beside the front of
    neither of them.
    """
    own, given = game.planes[taker], game.planes[giver]
    newly_touched, no_longer_touched, touched_back = no_cells(), no_cells(), no_cells()
    has_others = False
    for s in range(work.zone.shape[0]):
        for group in range(work.zone.shape[1]):
            blocks, found = work.zone[s, group], ZERO
            while blocks != ZERO:
                r = first_row(block_of(group, blocks))
                taken, takers, givers = eight(work.front, s, r), eight(own, s, r), eight(given, s, r)
                near = beside(work.front, s, r)
                gained = near & ~beside(own, s, r)
                touched = beside(given, s, r) if giver != NEUTRAL else near
                put(work.gained, s, r, gained)
                put(work.lost, s, r, near & ~touched)
                newly_touched = with_counts(newly_touched, gained & givers)
                no_longer_touched = with_counts(no_longer_touched, near & ~touched & takers)
                touched_back = with_counts(touched_back, touched & taken)
                others = near & ~(takers | givers | taken)
                found |= blocks & (~blocks + ONE) if rows_in(others) != ZERO else ZERO
                blocks &= blocks - ONE
            work.others[s, group] = found
            has_others |= found != ZERO
    add(game, taker, giver, total(newly_touched) - size)
    if giver != NEUTRAL:
        add(game, giver, taker, total(touched_back) - total(no_longer_touched))
    return has_others


@njit
def follow_neighbour(game: Game, work: Work, taker: int, giver: int, q: int) -> None:
    """Change the fronts between ``q``, who borders ``giver``, and the two that the capture is between."""
    own = game.planes[q]
    gained, lost, found = no_cells(), no_cells(), no_cells()
    for s in range(work.zone.shape[0]):
        for group in range(work.zone.shape[1]):
            blocks = work.others[s, group] & game.occupied[q, s, group]
            while blocks != ZERO:
                r = first_row(block_of(group, blocks))
                cells = eight(own, s, r)
                found |= cells & beside(work.front, s, r)
                gained = with_counts(gained, cells & eight(work.gained, s, r))
                lost = with_counts(lost, cells & eight(work.lost, s, r))
                blocks &= blocks - ONE
    if rows_in(found) == ZERO:
        return
    if q != NEUTRAL:
        touches = touches_of(game, work, q)
        add(game, q, giver, -touches)
        add(game, q, taker, touches)
    if total(gained) != 0:
        add(game, taker, q, total(gained))
    if giver != NEUTRAL and total(lost) != 0:
        add(game, giver, q, -total(lost))


@njit
def touches_of(game: Game, work: Work, q: int) -> int:
    """Return how many cells of the front have a neighbour owned by ``q``."""
    own, touches = game.planes[q], no_cells()
    for s in range(work.zone.shape[0]):
        for group in range(work.zone.shape[1]):
            blocks = work.front_blocks[s, group] & blocks_beside(game.occupied[q], s, group)
            while blocks != ZERO:
                r = first_row(block_of(group, blocks))
                touches = with_counts(touches, beside(own, s, r) & eight(work.front, s, r))
                blocks &= blocks - ONE
    return total(touches)


@njit
def follow_death(game: Game, dead: int) -> None:
    """Change the fronts for all cells of ``dead`` becoming neutral land.

    The two sets of cells have nothing in common, so fronts with them add up.
    """
    for q in range(1, len(game.land)):
        if game.fronts[q, dead] > 0:
            add(game, q, NEUTRAL, game.fronts[q, dead])
            add(game, q, dead, -game.fronts[q, dead])
    for target in range(len(game.land)):
        if game.fronts[dead, target] > 0:
            add(game, dead, target, -game.fronts[dead, target])


@njit
def add(game: Game, p: int, target: int, change: int) -> None:
    """Add ``change`` to the front of ``p`` with ``target``; a border has two sides, so both know of it."""
    size = game.fronts[p, target] + change
    game.fronts[p, target] = size
    note_border(game.bordering, p, target, size)
    note_border(game.bordering, target, p, size)
    mark(game, p, target)


@njit
def note_border(bordering: Any, p: int, q: int, size: int) -> None:
    """Put ``q`` into the set of ``p``, or take it out if the front between them has no cells."""
    bit = ONE << np.uint64(q & 63)
    rest = bordering[p, q >> 6] & ~bit
    bordering[p, q >> 6] = rest | bit if size > 0 else rest


@njit
def mark(game: Game, p: int, target: int) -> None:
    """Note that something between ``p`` and ``target`` is not as it was last observed."""
    game.stale[p, target >> 6] |= ONE << np.uint64(target & 63)


@njit
def mark_all(game: Game) -> None:
    """Note that nothing is as it was last observed."""
    for p in range(len(game.land)):
        for word in range(game.stale.shape[1]):
            game.stale[p, word] = ~ZERO
