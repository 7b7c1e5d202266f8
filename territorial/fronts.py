"""Front sizes of all pairs, kept current at every capture, for a tenth of what counting them anew costs.

``game.fronts[p, t]`` is the number of cells of owner t beside cells of player p; neutral land has no
fronts of its own (row 0 is zero). When ``taker`` takes the cells F from ``giver``, only this changes:

- The taker now also touches the cells beside F that it did not touch before: ``gained``.
- The giver no longer touches the cells beside F that it touched through F alone.
- Whoever touches a cell of F touched the giver there and touches the taker now.

All of it lies within a row and a column of F, and concerns only those who border the giver.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, ZERO, int64, lowest_bit, njit, popcount
from territorial.board import COLUMNS, END, FIRST, beside, edges, front_size, spread, take_front
from territorial.changes import note_changes
from territorial.constants import NEUTRAL
from territorial.state import Game
from territorial.work import Work


@njit
def count_fronts(game: Game, work: Work) -> None:
    """Count all fronts from the board as it stands."""
    for p in range(1, len(game.land)):
        spread(game.planes, game.spans, p, work.reach, work.reach_spans)
        for target in range(len(game.land)):
            size = 0
            if target != p:
                size = front_size(game.planes, game.spans, work.reach, work.reach_spans, target)
            add(game, p, target, size - game.fronts[p, target])
    mark_all(game)


@njit
def take_front_counted(game: Game, work: Work, taker: int, giver: int, size: int) -> None:
    """Move ``work.front``, ``size`` cells, from ``giver`` to ``taker``; all fronts follow."""
    planes, zone = game.planes, work.zone
    first_strip, end_strip = find_zone(work)
    for s in range(first_strip, end_strip):
        note_gained(planes[taker], work, s)
    take_front(planes, game.spans, taker, giver, work.front, work.front_spans)
    note_changes(work, work.front, work.front_spans, giver, taker)
    newly_touched = no_longer_touched = touched_back = 0
    for s in range(first_strip, end_strip):
        note_giver(planes[giver], work, s)
        for r in range(np.uint64(zone[s, FIRST]), np.uint64(zone[s, END])):
            taken, touched = work.front[s, r], work.near_giver[s, r]
            newly_touched += popcount(work.gained[s, r] & planes[giver, s, r])
            no_longer_touched += popcount(work.near_front[s, r] & ~touched & planes[taker, s, r] & ~taken)
            touched_back += popcount(touched & taken)
    add(game, taker, giver, newly_touched - size)
    if giver != NEUTRAL:
        add(game, giver, taker, touched_back - no_longer_touched)
    for word in range(game.bordering.shape[1]):
        neighbours = game.bordering[giver, word]
        while neighbours != ZERO:
            q = 64 * word + lowest_bit(neighbours)
            if q != taker and may_touch(game, work, q, first_strip, end_strip):
                follow_neighbour(game, work, taker, giver, q, first_strip, end_strip)
            neighbours &= neighbours - ONE
    clear_front(work)


@njit
def find_zone(work: Work) -> tuple[int, int]:
    """Fill ``work.zone``: the rows in which there are cells of the front or beside it; return the strips."""
    spans, zone = work.front_spans, work.zone
    first_strip, end_strip = len(spans), 0
    for s in range(len(spans)):
        first, end = spans[s, FIRST] - 1, spans[s, END] + 1
        if s > 0 and spans[s - 1, COLUMNS] < 0:  # the front has cells in the last column of the strip
            first, end = min(first, spans[s - 1, FIRST]), max(end, spans[s - 1, END])
        if s + 1 < len(spans) and spans[s + 1, COLUMNS] & 1:
            first, end = min(first, spans[s + 1, FIRST]), max(end, spans[s + 1, END])
        zone[s, FIRST], zone[s, END] = max(first, 1), min(end, work.front.shape[1] - 1)
        if zone[s, FIRST] < zone[s, END]:
            first_strip, end_strip = min(first_strip, s), s + 1
        else:
            zone[s, FIRST] = zone[s, END] = 0
    return first_strip, end_strip


@njit
def note_gained(own: Any, work: Work, s: int) -> None:
    """Write the cells beside the front, and those of them that ``own``, the taker's, do not touch yet."""
    edge = edges(s, len(own))
    columns = ZERO
    for r in range(np.uint64(work.zone[s, FIRST]), np.uint64(work.zone[s, END])):
        near = beside(work.front, s, r, edge)
        work.near_front[s, r] = near
        columns |= near
    work.zone[s, COLUMNS] = int64(columns)
    for r in range(np.uint64(work.zone[s, FIRST]), np.uint64(work.zone[s, END])):
        work.gained[s, r] = work.near_front[s, r] & ~beside(own, s, r, edge)


@njit
def note_giver(rest: Any, work: Work, s: int) -> None:
    """Write the cells beside those that are left to the giver, ``rest``."""
    edge = edges(s, len(rest))
    for r in range(np.uint64(work.zone[s, FIRST]), np.uint64(work.zone[s, END])):
        work.near_giver[s, r] = beside(rest, s, r, edge)


@njit
def may_touch(game: Game, work: Work, q: int, first_strip: int, end_strip: int) -> bool:
    """Return whether ``q`` may own cells beside the front: rows and columns overlap in some strip."""
    is_near = False
    for s in range(first_strip, end_strip):
        first = max(game.spans[q, s, FIRST], work.zone[s, FIRST])
        end = min(game.spans[q, s, END], work.zone[s, END])
        is_near |= (first < end) & ((game.spans[q, s, COLUMNS] & work.zone[s, COLUMNS]) != 0)
    return is_near


@njit
def follow_neighbour(
    game: Game, work: Work, taker: int, giver: int, q: int, first_strip: int, end_strip: int
) -> None:
    """Change the fronts between ``q``, who borders ``giver``, and the two that the capture was between."""
    own = game.planes[q]
    touches = gained = lost = 0
    for s in range(first_strip, end_strip):
        edge = edges(s, len(own))
        for r in range(np.uint64(work.zone[s, FIRST]), np.uint64(work.zone[s, END])):
            touches += popcount(beside(own, s, r, edge) & work.front[s, r])
            gained += popcount(own[s, r] & work.gained[s, r])
            lost += popcount(own[s, r] & work.near_front[s, r] & ~work.near_giver[s, r])
    if q != NEUTRAL and touches != 0:
        add(game, q, giver, -touches)
        add(game, q, taker, touches)
    if gained != 0:
        add(game, taker, q, gained)
    if giver != NEUTRAL and lost != 0:
        add(game, giver, q, -lost)


@njit
def clear_front(work: Work) -> None:
    """Make ``work.front`` zero again."""
    for s in range(len(work.front_spans)):
        first, end = work.front_spans[s, FIRST], work.front_spans[s, END]
        if first < end:
            for r in range(np.uint64(first), np.uint64(end)):
                work.front[s, r] = ZERO


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
