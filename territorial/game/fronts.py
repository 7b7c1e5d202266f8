"""Front sizes of all pairs of owners, updated at every capture.

``game.fronts[p, t]`` is the number of cells of owner t beside cells of player p; neutral land has no
fronts of its own (row 0 is zero). When ``taker`` takes the cells F from ``giver``, only this changes:

- The taker now also touches the cells beside F that it did not touch before.
- The giver no longer touches the cells beside F that it touched through F alone.
- A player that touches a cell of F touched the giver there and touches the taker now.

All of it lies in the *zone*, the blocks with cells of F or beside F, and concerns only those who border
the giver. While it is counted, F has no owner: the giver has lost it and the taker not got it yet.
"""

from typing import Any, NamedTuple

import numpy as np

from territorial.constants import NEUTRAL
from territorial.game.board import (
    BlockList,
    CellSet,
    add_number,
    beside,
    empty,
    find_front,
    front_size,
    gain_front,
    has_common,
    lose_front,
)
from territorial.game.scratch import Work, note_changes
from territorial.game.state import Game, cells_of
from territorial.jit.decorators import ONE, ZERO, lowest_bit, njit
from territorial.jit.simd import EIGHT, at, eight, fill, no_cells, put, put_at, rows_in, total, with_counts


class Attack(NamedTuple):
    """An attack of one player on another: on all cells of ``giver`` beside the cells ``own`` of ``taker``."""

    taker: int
    giver: int
    own: CellSet  # as the turn of the taker began
    size: int  # of the front, cells


@njit
def count_fronts(game: Game) -> None:
    """Count all fronts from the board as it stands."""
    fill(game.fronts, 0)
    fill(game.bordering, ZERO)
    for p in range(1, len(game.land)):
        for target in range(len(game.land)):
            if target != p:
                add(game, p, target, front_size(cells_of(game, p), cells_of(game, target)))
    mark_all(game)


@njit
def take_front(game: Game, work: Work, attack: Attack) -> None:
    """Move the front that is attacked from the giver to the taker; the sizes of all fronts follow."""
    taker, giver = attack.taker, attack.giver
    cells = cells_of(game, giver)
    blocks = find_front(attack.own, cells, work.front, work.listed)
    zone = lose_front(cells, work.front, work.zone, work.all_blocks, blocks)
    num_others = follow_both(game, work, attack, zone)
    if num_others > 0:
        for word in range(game.bordering.shape[1]):
            neighbours = game.bordering[giver, word]
            while neighbours != ZERO:
                q = 64 * word + lowest_bit(neighbours)
                if q != taker and has_common(game.occupied[q], work.with_others):
                    follow_neighbour(game, work, attack, blocks, num_others, q)
                neighbours &= neighbours - ONE
    note_changes(work, work.front, blocks, giver, taker)
    gain_front(cells_of(game, taker), work.front, blocks)


@njit
def follow_both(game: Game, work: Work, attack: Attack, zone: BlockList) -> int:
    """Update the fronts between the two sides of an attack after their front is taken.

    Returns the number of blocks with cells beside the front that neither of the two has. ``Work.others`` has
    their places, ``Work.near`` these cells, and ``Work.with_others`` is the set of these blocks.
    """
    taker, giver, front = attack.taker, attack.giver, work.front.words
    own, given = game.planes[taker], game.planes[giver]
    newly_touched, no_longer_touched, touched_back = no_cells(), no_cells(), no_cells()
    count = 0
    empty(work.with_others)
    for i in range(zone.length):
        place, number = zone.places[i], zone.numbers[i]
        taken, takers, givers = eight(front, place), eight(own, place), eight(given, place)
        near = beside(front, place)
        touched = beside(given, place) if giver != NEUTRAL else near
        newly_touched = with_counts(newly_touched, near & ~beside(own, place) & givers)
        no_longer_touched = with_counts(no_longer_touched, near & ~touched & takers)
        touched_back = with_counts(touched_back, touched & taken)
        of_others = near & ~(takers | givers | taken)
        put_at(work.others, count, place)
        put(work.near, EIGHT * count, of_others)
        has_others = rows_in(of_others) != ZERO
        add_number(work.with_others, number, has_others)
        count += has_others
    add(game, taker, giver, total(newly_touched) - attack.size)
    if giver != NEUTRAL:
        add(game, giver, taker, total(touched_back) - total(no_longer_touched))
    return count


@njit
def follow_neighbour(
    game: Game, work: Work, attack: Attack, blocks: BlockList, num_others: int, q: int
) -> None:
    """Update the fronts between ``q``, a neighbour of the giver, and the two sides of an attack.

    ``blocks`` are those of the front, ``num_others`` how many ``follow_both`` found.
    """
    taker, giver = attack.taker, attack.giver
    own, found = game.planes[q], no_cells()
    for i in range(num_others):
        found |= eight(own, at(work.others, i)) & eight(work.near, EIGHT * i)
    if rows_in(found) == ZERO:
        return
    gained, lost = no_cells(), no_cells()
    for i in range(num_others):
        place = at(work.others, i)
        cells = eight(own, place) & eight(work.near, EIGHT * i)
        gained = with_counts(gained, cells & ~beside(game.planes[taker], place))
        lost = with_counts(lost, cells & ~beside(game.planes[giver], place))
    if q != NEUTRAL:
        touches = touches_of(game, work, blocks, q)
        add(game, q, giver, -touches)
        add(game, q, taker, touches)
    if total(gained) != 0:
        add(game, taker, q, total(gained))
    if giver != NEUTRAL and total(lost) != 0:
        add(game, giver, q, -total(lost))


@njit
def touches_of(game: Game, work: Work, blocks: BlockList, q: int) -> int:
    """Return how many cells of the front, which lies in ``blocks``, have a neighbour owned by ``q``."""
    own, touches = game.planes[q], no_cells()
    for i in range(blocks.length):
        place = blocks.places[i]
        touches = with_counts(touches, beside(own, place) & eight(work.front.words, place))
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
    """Add ``change`` to the front of ``p`` with ``target``; a border has two sides, so both know of it.

    Few borders begin or end, so it costs less to look for that than to write what is known already.
    """
    before = game.fronts[p, target]
    size = before + change
    game.fronts[p, target] = size
    mark(game, p, target)
    if (before > 0) != (size > 0):
        note_border(game.bordering, p, target, size)
        note_border(game.bordering, target, p, size)


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
