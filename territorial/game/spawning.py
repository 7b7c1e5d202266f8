"""Sets up a game: map, spawn cells and starting numbers."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import Params
from territorial.config.land_mask import LandMask
from territorial.constants import (
    NEUTRAL,
    SPAWN_CANDIDATES,
    SPAWN_CELLS,
    SPAWN_SIDE,
    SPAWN_TRIES,
    STREAM_MAP,
    STREAM_SPAWN,
    STREAM_SPAWN_ORDER,
    STREAM_TEAM_ORDER,
    STREAM_TEAM_SPAWN,
)
from territorial.game.board import (
    clear_cells,
    drop_cell,
    find_blocks,
    has_cell,
    num_rows,
    num_strips,
    set_cell,
)
from territorial.game.formulas import draw, draw_below, sort_by_key
from territorial.game.rules import NEVER
from territorial.game.scratch import ANCHOR_COLUMN, ANCHOR_ROW, ANCHOR_SEAT, MEMBERS, PART_END, Work
from territorial.game.state import EPISODE, LAND_CHANGED, MAP_ID, NEXT_DUE, NUM_LAND, SEED, Game, cells_of
from territorial.game.teams import deal_teams, has_allies, sort_by_draw
from territorial.jit.decorators import ZERO, int64, njit
from territorial.jit.simd import fill

LOW_HALF, HALF_BITS = np.uint64(0xFFFFFFFF), np.uint64(32)
FAR = 2**40
"""A squared distance larger than any map's."""


class MapBank(NamedTuple):
    """The maps that the games of a batch are played on, N of them, as bit planes (territorial.game.board)."""

    planes: npt.NDArray[np.uint64]  # (N, S, rows)
    num_land: npt.NDArray[np.int64]  # (N,) cells
    picks: npt.NDArray[np.int64]
    """Numbers of maps, of which a game draws one; if there are none, game k is played on map k."""
    assigned: npt.NDArray[np.int64]
    """(E,) the number of the map that game k is always played on; or none, (0,), where games draw."""


def allocate_bank(
    height: int,
    width: int,
    num_maps: int,
    picks: npt.NDArray[np.int64],
    assigned: npt.NDArray[np.int64] | None = None,
) -> MapBank:
    """Return room for ``num_maps`` maps, which :func:`write_map` fills."""
    planes = np.zeros((num_maps, num_strips(width), num_rows(height)), np.uint64)
    nobody = np.zeros(0, np.int64)
    return MapBank(planes, np.zeros(num_maps, np.int64), picks, nobody if assigned is None else assigned)


def write_map(bank: MapBank, row: int, land: LandMask) -> None:
    """Put ``land`` into a row of the bank."""
    padded = np.zeros((land.height, 64 * bank.planes.shape[1]), np.uint8)
    padded[:, : land.width] = land.to_array()
    words = np.packbits(padded, axis=1, bitorder="little").view("<u8")
    bank.planes[row, :, 1 : land.height + 1] = words.T
    bank.num_land[row] = land.num_land


@njit
def begin_game(game: Game, params: Params, bank: MapBank, work: Work, k: int) -> None:
    """Set game ``k`` up for its seed: map, teams, spawns, numbers; nothing of an older game stays."""
    map_id = k
    if len(bank.assigned) > 0:
        map_id = bank.assigned[k]
    elif len(bank.picks) > 0:
        map_id = bank.picks[draw_below(len(bank.picks), game.seed[SEED], STREAM_MAP, 0, 0)]
    lay_out_land(game, bank, map_id)
    start_numbers(game, params)
    deal_teams(game.seed[SEED], work.dealt_teams, params.deals_at_random, work.due, work.keys, game.team)
    place_spawns(game, params, work)


@njit
def lay_out_land(game: Game, bank: MapBank, map_id: int) -> None:
    """Make the board all neutral land of the map; clears only cells that the last game used."""
    for owner in range(1, game.planes.shape[0]):
        clear_cells(cells_of(game, owner))
    for strip in range(game.planes.shape[1]):
        for r in range(np.uint64(game.planes.shape[2])):
            game.planes[NEUTRAL, strip, r] = bank.planes[map_id, strip, r]
    find_blocks(cells_of(game, NEUTRAL))
    episode = game.clock[EPISODE]
    fill(game.clock, 0)
    game.clock[EPISODE] = episode
    game.clock[MAP_ID], game.clock[NUM_LAND] = map_id, bank.num_land[map_id]
    game.clock[NEXT_DUE], game.clock[LAND_CHANGED] = NEVER, 1


@njit
def start_numbers(game: Game, params: Params) -> None:
    """All players are alive with the starting troops and the land of a spawn, and nothing has happened."""
    for p in range(len(game.alive)):
        is_seat = int64(p != NEUTRAL)
        game.alive[p] = is_seat
        game.troops[p] = is_seat * params.starting_troops
        game.land[p] = game.peak[p] = is_seat * SPAWN_CELLS
        game.next_step[p] = game.doubled_place[p] = 0
        game.illegal[p] = game.raised[p] = game.bounced[p] = 0
        game.death_tick[p] = -1
        game.due[p] = NEVER
    game.land[NEUTRAL] = game.clock[NUM_LAND] - SPAWN_CELLS * params.num_players
    fill(game.ledger, 0)
    fill(game.pools, 0)
    fill(game.taken, 0)
    fill(game.active, ZERO)
    fill(game.fresh, ZERO)


# ---- spawns: a 4 x 4 square without its corners, named by its upper left cell, the anchor ---------


@njit
def place_spawns(game: Game, params: Params, work: Work) -> None:
    """Every seat gets a spawn; the places are found first and then assigned at random, or to teams.

    If the random places leave no room for the last of them, all are packed in reading order instead
    (that they fit so is checked when the maps are made).
    """
    anchors, placed = work.anchors, 0
    while placed < params.num_players and find_anchor(game, params, anchors, placed):
        placed += 1
    if placed < params.num_players:
        for slot in range(placed):
            mark_spawn(game, anchors[slot, ANCHOR_ROW], anchors[slot, ANCHOR_COLUMN], True)
        for slot in range(params.num_players):
            first_free_anchor(game, params, anchors, slot)
    if has_allies(params) and params.starts_together != 0:
        share_out(game, params, work)
    else:
        hand_out(params, game.seed[SEED], anchors)
    take_spawns(game, params, anchors)


@njit
def find_anchor(game: Game, params: Params, anchors: Any, slot: int) -> bool:
    """Find a free place far from the spawns before it and take it; False if there is no free place.

    Best-candidate sampling (Mitchell 1991), cut short by the first place that is far enough.
    """
    seed, height, width = game.seed[SEED], params.height, params.width
    percent = params.spawn_spacing_percent
    enough = percent * percent * game.clock[NUM_LAND]
    best, looked_at = -1, 0
    for attempt in range(SPAWN_TRIES):
        bits = draw(seed, STREAM_SPAWN, slot, attempt)
        r = int64((bits >> HALF_BITS) % np.uint64(height - SPAWN_SIDE + 1))
        c = int64((bits & LOW_HALF) % np.uint64(width - SPAWN_SIDE + 1))
        if not is_free(game, r, c):
            continue
        distance = nearest_spawn(anchors, slot, r, c)
        if distance > best:
            best, anchors[slot, ANCHOR_ROW], anchors[slot, ANCHOR_COLUMN] = distance, r, c
        looked_at += 1
        if distance * 10_000 * params.num_players >= enough or looked_at == SPAWN_CANDIDATES:
            break
    if best < 0:
        return first_free_anchor(game, params, anchors, slot)
    mark_spawn(game, anchors[slot, ANCHOR_ROW], anchors[slot, ANCHOR_COLUMN], False)
    return True


@njit
def first_free_anchor(game: Game, params: Params, anchors: Any, slot: int) -> bool:
    """Take the first free place in reading order; False if there is none."""
    for r in range(params.height - SPAWN_SIDE + 1):
        for c in range(params.width - SPAWN_SIDE + 1):
            if is_free(game, r, c):
                anchors[slot, ANCHOR_ROW], anchors[slot, ANCHOR_COLUMN] = r, c
                mark_spawn(game, r, c, False)
                return True
    return False


@njit
def nearest_spawn(anchors: Any, count: int, row: int, column: int) -> int:
    """Return the least squared distance from (row, column) to the first ``count`` anchors."""
    nearest = FAR
    for slot in range(count):
        down, right = anchors[slot, ANCHOR_ROW] - row, anchors[slot, ANCHOR_COLUMN] - column
        nearest = min(nearest, down * down + right * right)
    return nearest


@njit
def is_in_spawn(down: int, right: int) -> bool:
    """Return whether a cell of the square belongs to the spawn: all but the four corners."""
    last = SPAWN_SIDE - 1
    return not ((down == 0 or down == last) and (right == 0 or right == last))


@njit
def is_free(game: Game, row: int, column: int) -> bool:
    """Return whether all cells of a spawn at this anchor are neutral land."""
    free = cells_of(game, NEUTRAL)
    for down in range(SPAWN_SIDE):
        for right in range(SPAWN_SIDE):
            if is_in_spawn(down, right) and not has_cell(free, row + down, column + right):
                return False
    return True


@njit
def mark_spawn(game: Game, row: int, column: int, is_neutral: bool) -> None:
    """Put the cells of a spawn into the neutral plane, or take them out of it."""
    free = cells_of(game, NEUTRAL)
    for down in range(SPAWN_SIDE):
        for right in range(SPAWN_SIDE):
            if is_in_spawn(down, right):
                if is_neutral:
                    set_cell(free, row + down, column + right)
                else:
                    drop_cell(free, row + down, column + right)


@njit
def hand_out(params: Params, seed: Any, anchors: Any) -> None:
    """Give the places to the seats in random order (Fisher-Yates)."""
    for slot in range(params.num_players):
        anchors[slot, ANCHOR_SEAT] = slot + 1
    for j in range(params.num_players - 1, 0, -1):
        i = draw_below(j + 1, seed, STREAM_SPAWN_ORDER, 0, j)
        anchors[i, ANCHOR_SEAT], anchors[j, ANCHOR_SEAT] = anchors[j, ANCHOR_SEAT], anchors[i, ANCHOR_SEAT]


@njit
def take_spawns(game: Game, params: Params, anchors: Any) -> None:
    """Every seat owns the cells of its place."""
    for slot in range(params.num_players):
        for down in range(SPAWN_SIDE):
            for right in range(SPAWN_SIDE):
                if is_in_spawn(down, right):
                    r, c = anchors[slot, ANCHOR_ROW] + down, anchors[slot, ANCHOR_COLUMN] + right
                    set_cell(cells_of(game, anchors[slot, ANCHOR_SEAT]), r, c)


# ---- teams that start together: the map is cut until every team has a part of it -------------------


@njit
def share_out(game: Game, params: Params, work: Work) -> None:
    """Give every team the places of one part of the map, and each of its members one of them."""
    seed, order, sums = game.seed[SEED], work.due, work.teams
    fill(sums, 0)
    for p in range(1, len(game.team)):
        sums[MEMBERS, game.team[p]] += 1
    for i in range(params.num_teams):
        order[i] = i + 1
    sort_by_draw(seed, STREAM_TEAM_ORDER, order, work.keys, params.num_teams)
    cut_map(params, work)
    first = 0
    for i in range(params.num_teams):
        sort_anchors(params, work, first, first + sums[MEMBERS, order[i]], True)
        give_to_members(game, work, order[i], first)
        first += sums[MEMBERS, order[i]]


@njit
def cut_map(params: Params, work: Work) -> None:
    """Sort the places by team, so that places of a team are adjacent, in the order of ``work.due``.

    The teams from the i-th on that still share a part end before ``work.teams[PART_END, i]``. The first part
    of more than one team is halved, until there is none.
    """
    order, sums, first, i = work.due, work.teams, 0, 0
    sums[PART_END, 0] = params.num_teams
    while i < params.num_teams:
        end = sums[PART_END, i]
        if end - i == 1:
            first += sums[MEMBERS, order[i]]
            i = end
            continue
        last = first
        for j in range(i, end):
            last += sums[MEMBERS, order[j]]
        sort_anchors(params, work, first, last, is_high(work.anchors, first, last))
        middle = i + (end - i) // 2
        sums[PART_END, middle], sums[PART_END, i] = end, middle


@njit
def is_high(anchors: Any, first: int, end: int) -> bool:
    """Return whether the box around the places [first, end) is at least as high as it is wide."""
    top = bottom = anchors[first, ANCHOR_ROW]
    left = right = anchors[first, ANCHOR_COLUMN]
    for slot in range(first + 1, end):
        r, c = anchors[slot, ANCHOR_ROW], anchors[slot, ANCHOR_COLUMN]
        top, bottom, left, right = min(top, r), max(bottom, r), min(left, c), max(right, c)
    return bottom - top >= right - left


@njit
def sort_anchors(params: Params, work: Work, first: int, end: int, by_row: bool) -> None:
    """Sort the places [first, end) by row, then column, or by column, then row."""
    anchors, keys, places, width = work.anchors, work.keys, work.members, params.width
    for i in range(end - first):
        r, c = anchors[first + i, ANCHOR_ROW], anchors[first + i, ANCHOR_COLUMN]
        places[i] = r * width + c
        keys[i] = np.uint64(places[i] if by_row else c * params.height + r)
    sort_by_key(places, keys, end - first)
    for i in range(end - first):
        anchors[first + i, ANCHOR_ROW] = places[i] // width
        anchors[first + i, ANCHOR_COLUMN] = places[i] % width


@njit
def give_to_members(game: Game, work: Work, team: int, first: int) -> None:
    """Give the places from ``first`` on to the members of ``team``, in the order of their draws."""
    count = 0
    for p in range(1, len(game.team)):
        if game.team[p] == team:
            work.members[count] = p
            count += 1
    sort_by_draw(game.seed[SEED], STREAM_TEAM_SPAWN, work.members, work.keys, count)
    for i in range(count):
        work.anchors[first + i, ANCHOR_SEAT] = work.members[i]
