"""The form "pairs": 35 numbers per seat and 26 per candidate.

With teams those have one number more, and living allies have rows, too.

docs/observation.md defines every number under "Pairs", ``pair_columns`` lists them. They are read from the
game itself, so that nothing else has to be observed. ``sum_up`` finds once a game what several seats need;
``see_pairs`` then shows one seat.

Divisions are those of float64, as whole numbers take three times as long. They are exact all the same: see
``parts_of``.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.game.formulas import is_affordable, largest_need, may_donate, need_at_front
from territorial.game.rules import attack_cost, death_cost, opening_rate
from territorial.game.state import NUM_LAND, TICK, Game
from territorial.game.teams import are_allies_in, has_allies, may_attack
from territorial.jit.decorators import ONE, ZERO, highest_bit, int64, lowest_bit, njit, popcount
from territorial.observation.action_encoding import target_of_owner
from territorial.observation.pair_columns import (
    GAP,
    LARGEST_GAP,
    LARGEST_RATIO,
    LOG_UNIT,
    MOST,
    MOST_TROOPS,
    OF_OWN,
    OF_PAIR,
    OWN,
    UNIT,
)
from territorial.observation.tables import rate_now

LOG_BITS = LOG_UNIT.bit_length() - 1
INTEREST_UNIT = 1000
NEIGHBOURS_UNIT = 8
STEP_UNIT = 50
"""Ticks between decision points that count as 1: what many bots decide at."""


class PairTotals(NamedTuple):
    """Results of ``sum_up`` for all seats of a game; P seats."""

    own: npt.NDArray[np.int16]  # (N,) columns of own: those that are the same for all seats are filled in
    game: npt.NDArray[np.int64]  # (G,) ALIVE ...
    players: npt.NDArray[np.int64]  # (P+1, K) OUT ... of living players


ALIVE, LOG_LAND_OF_MAP, LOG_LEADER_LAND, LOG_MEAN_DENSITY, LOG_MEAN_FORCE, OPENING_RATE, NUM_TOTALS = range(7)
"""``PairTotals.game``: living players; logarithms of all land and of the leader's, of troops to land and of
troops per player with those in the field; the interest rate of the opening."""

# ``PairTotals.players``: troops in the field, others' against it, cells on the border, players beside it; the
# logarithms of troops at home, of land, and of troops at home with those in the field; columns of pairs that
# are the same for all seats.
OUT, IN, BORDER, NEAR, LOG_TROOPS, LOG_LAND, LOG_FORCE = range(7)
DENSITY, SENT, PEAK_SHARE, LAND_SHARE, TO_LEADER, BORDER_NEUTRAL, NEIGHBOURS, NUM_OF_PLAYER = range(7, 15)


def allocate_totals(num_players: int) -> PairTotals:
    """Return buffers for the results of ``sum_up``; every thread needs its own."""
    return PairTotals(
        own=np.zeros(len(OWN), np.int16),
        game=np.zeros(NUM_TOTALS, np.int64),
        players=np.zeros((num_players + 1, NUM_OF_PLAYER), np.int64),
    )


# ---- numbers -------------------------------------------------------------------------------------


@njit
def log_of(amount: int) -> int:
    """Return log2(1 + amount) in 256ths, straight between powers of two."""
    above = 1 + min(amount, MOST)
    exponent = highest_bit(np.uint64(above))
    return ((exponent - 1) << LOG_BITS) + ((above << LOG_BITS) >> exponent)


@njit
def ratio(over: int, under: int) -> int:
    """Return over / under in 4096ths, rounded down, at most 4."""
    return parts_of(min(over, MOST), min(max(1, under), MOST))


@njit
def part(amount: int, rest: int) -> int:
    """Return amount / (1 + amount + rest) in 4096ths, rounded down."""
    amount = min(amount, MOST)
    return parts_of(amount, 1 + amount + min(rest, MOST))


@njit
def parts_of(over: int, under: int) -> int:
    """Return min(LARGEST_RATIO, UNIT * over // under) for 0 <= over <= 2**48 and 0 < under <= 2**50.

    Both sides are whole numbers of at most 50 bits, times a power of two, and so exact in float64. Division
    rounds correctly and never past a whole number, which is exact itself. So what it returns, cut off, is
    what is wanted or 1 more: then the product is too large.
    """
    whole = UNIT * over
    found = int64(min(whole / under, float(LARGEST_RATIO)))
    return found - (found * under > whole)


@njit
def gap(difference: int) -> int:
    """Return a difference of logarithms as it is stored: a doubling is a quarter, at most 16 of them."""
    return min(max(GAP * difference, -LARGEST_GAP), LARGEST_GAP)


# ---- what is the same for all seats ----------------------------------------------------------------


@njit
def sum_up(game: Game, params: Params, totals: PairTotals) -> None:
    """Compute the totals that ``see_pairs`` needs for any seat of ``game``, as the game stands."""
    sum_borders_and_pools(game, totals.players)
    leader = sum_game(game, params, totals)
    for q in range(1, len(game.alive)):
        if game.alive[q] != 0:
            describe_player(game, params, leader, q, totals.players[q])
    now, own = game.clock[TICK], totals.own
    opening = params.early_interest_ticks
    own[OF_OWN.time] = ratio(now, params.max_ticks)
    own[OF_OWN.time_left] = log_of(max(0, params.max_ticks - now))
    own[OF_OWN.opening] = ratio(max(0, opening - now), opening)
    own[OF_OWN.players] = log_of(params.num_players)
    own[OF_OWN.decision_step] = ratio(params.decision_every, STEP_UNIT)
    own[OF_OWN.neutral_share] = ratio(game.land[NEUTRAL], game.clock[NUM_LAND])
    own[OF_OWN.income_phase] = ratio(now % params.income_every, params.income_every)
    own[OF_OWN.first] = UNIT if now == 0 else 0
    totals.game[OPENING_RATE] = opening_rate(now, params)


@njit
def sum_borders_and_pools(game: Game, players: Any) -> None:
    """Write OUT, IN, BORDER and NEAR of all living players."""
    for q in range(len(game.alive)):
        players[q, IN] = 0
    for q in range(1, len(game.alive)):
        if game.alive[q] != 0:
            out = border = near = 0
            for word in range(game.bordering.shape[1]):
                beside = game.bordering[q, word]
                near += popcount(beside)
                while beside != ZERO:
                    border += game.fronts[q, 64 * word + lowest_bit(beside)]
                    beside &= beside - ONE
                targets = game.active[q, word]
                while targets != ZERO:
                    target = 64 * word + lowest_bit(targets)
                    pool = min(game.pools[q, target], MOST_TROOPS)
                    out += pool
                    players[target, IN] += pool
                    targets &= targets - ONE
            players[q, OUT], players[q, BORDER] = out, border
            players[q, NEAR] = near - (game.fronts[q, NEUTRAL] > 0)


@njit
def sum_game(game: Game, params: Params, totals: PairTotals) -> int:
    """Write sums over the living players; return the leader, 0 if no player is alive."""
    alive = leader = all_troops = all_land = all_out = 0
    most_land = most_troops = -1
    for q in range(1, len(game.alive)):
        if game.alive[q] != 0:
            land, troops = game.land[q], min(game.troops[q], MOST_TROOPS)
            alive += 1
            all_land += land
            all_troops += troops
            all_out += totals.players[q, OUT]
            if land > most_land or (land == most_land and troops > most_troops):
                leader, most_land, most_troops = q, land, troops
    num_land, own = game.clock[NUM_LAND], totals.own
    own[OF_OWN.alive_share] = ratio(alive, params.num_players)
    own[OF_OWN.leader_share] = ratio(max(0, most_land), num_land)
    own[OF_OWN.leader_density] = ratio(max(0, most_troops), params.hard_cap * max(0, most_land))
    own[OF_OWN.mean_density] = ratio(all_troops, params.hard_cap * all_land)
    totals.game[ALIVE] = alive
    totals.game[LOG_LAND_OF_MAP] = log_of(num_land)
    totals.game[LOG_LEADER_LAND] = log_of(max(0, most_land))
    totals.game[LOG_MEAN_DENSITY] = log_of(all_troops) - log_of(all_land)
    totals.game[LOG_MEAN_FORCE] = log_of((all_troops + all_out) // max(1, alive))
    return leader


@njit
def describe_player(game: Game, params: Params, leader: int, q: int, out: Any) -> None:
    """Write the numbers of ``q`` that are the same for all seats, OUT, IN, BORDER and NEAR being there."""
    land, troops = game.land[q], min(game.troops[q], MOST_TROOPS)
    out[LOG_TROOPS], out[LOG_LAND] = log_of(troops), log_of(land)
    out[LOG_FORCE] = log_of(troops + out[OUT])
    out[DENSITY] = ratio(troops, params.hard_cap * land)
    out[SENT] = part(out[OUT], troops)
    out[PEAK_SHARE] = ratio(land, game.peak[q])
    out[LAND_SHARE] = ratio(land, game.clock[NUM_LAND])
    out[TO_LEADER] = ratio(land, game.land[leader])
    out[BORDER_NEUTRAL] = ratio(game.fronts[q, NEUTRAL], out[BORDER])
    out[NEIGHBOURS] = ratio(out[NEAR], NEIGHBOURS_UNIT)


# ---- what a seat sees ------------------------------------------------------------------------------


@njit
def see_pairs(
    game: Game,
    params: Params,
    interest_rates: Any,
    totals: PairTotals,
    p: int,
    own: Any,
    pairs: Any,
    owners: Any,
) -> int:
    """Write the pairs of seat ``p``, by the ``totals`` of ``sum_up``; return the number of candidates.

    ``own``: int16 (N,). ``pairs``: int16 (C, K), and ``owners``: int64 (C,), the candidates' owner codes.
    Rows beyond the candidates are left as they are. Of an eliminated seat ``own`` is all 0. Allies are no
    candidates: see ``see_allies``.
    """
    if game.alive[p] == 0:
        for i in range(len(own)):
            own[i] = 0
        return 0
    see_own(game, params, interest_rates, totals, p, own)
    count = find_candidates(game, params, p, owners)
    for c in range(count):
        if owners[c] == NEUTRAL:
            see_neutral(game, params, totals, p, pairs[c])
        else:
            see_player(game, params, totals, p, owners[c], pairs[c])
    return count


@njit
def see_allies(game: Game, params: Params, totals: PairTotals, p: int, pairs: Any, owners: Any) -> int:
    """Write the rows of the largest living allies of ``p`` and return how many there are, as ``see_pairs``.

    ``pairs``: int16 (D, K), with the columns of games with teams, and ``owners``: int64 (D,), their codes.
    """
    count = find_allies(game, params, p, owners)
    for d in range(count):
        see_player(game, params, totals, p, owners[d], pairs[d])
        pairs[d, OF_PAIR.ally] = UNIT
        pairs[d, OF_PAIR.legal] = UNIT if may_give(game, params, p, owners[d]) else 0
        pairs[d, OF_PAIR.need] = pairs[d, OF_PAIR.price] = 0
    return count


@njit
def may_give(game: Game, params: Params, p: int, ally: int) -> bool:
    """Return whether ``p`` may donate to a living ally."""
    return may_donate(game.troops[p], game.troops[ally], game.land[ally], params)


@njit
def find_allies(game: Game, params: Params, p: int, owners: Any) -> int:
    """Write the owner codes of the largest living allies of ``p``, and return how many are written.

    The ones with more land come first; of equals those with more troops; then the way round.
    """
    count = 0
    if has_allies(params) and game.alive[p] != 0:
        for q in range(1, len(game.alive)):
            if game.alive[q] != 0 and are_allies_in(game, p, q):
                count = put_among(game, p, q, owners, 0, count, True)
    return count


@njit
def see_own(game: Game, params: Params, interest_rates: Any, totals: PairTotals, p: int, own: Any) -> None:
    """Write the columns of own."""
    for i in range(len(own)):
        own[i] = totals.own[i]
    mine, land, troops = totals.players[p], game.land[p], min(game.troops[p], MOST_TROOPS)
    alive, log_land = totals.game[ALIVE], mine[LOG_LAND]
    ahead, richer = count_above(game, p)
    thinnest, richest = compare_neighbours(game, totals, p)
    own[OF_OWN.land] = log_land
    own[OF_OWN.crowding] = gap(log_of(land * params.num_players) - totals.game[LOG_LAND_OF_MAP])
    own[OF_OWN.land_share] = mine[LAND_SHARE]
    own[OF_OWN.density] = mine[DENSITY]
    own[OF_OWN.over_soft_cap] = ratio(max(0, troops - params.soft_cap * land), params.hard_cap * land)
    own[OF_OWN.troops] = mine[LOG_TROOPS]
    own[OF_OWN.interest] = ratio(
        rate_now(game, params, interest_rates, totals.game[OPENING_RATE], p), INTEREST_UNIT
    )
    own[OF_OWN.rank_by_land] = ratio(ahead, alive)
    own[OF_OWN.rank_by_troops] = ratio(richer, alive)
    own[OF_OWN.peak_share] = mine[PEAK_SHARE]
    own[OF_OWN.pools_out] = mine[SENT]
    own[OF_OWN.pools_in] = part(mine[IN], troops)
    own[OF_OWN.leader_land] = gap(totals.game[LOG_LEADER_LAND] - log_land)
    own[OF_OWN.density_to_mean] = gap(mine[LOG_TROOPS] - log_land - totals.game[LOG_MEAN_DENSITY])
    own[OF_OWN.neighbours] = mine[NEIGHBOURS]
    own[OF_OWN.border_neutral] = mine[BORDER_NEUTRAL]
    own[OF_OWN.border] = gap(2 * log_of(mine[BORDER]) - log_land)
    own[OF_OWN.pool_on_neutral] = part(min(game.pools[p, NEUTRAL], MOST_TROOPS), troops)
    own[OF_OWN.thinnest_neighbour] = thinnest
    own[OF_OWN.richest_neighbour] = part(richest, troops) if richest >= 0 else 0
    wait = max(0, game.next_step[p] - game.clock[TICK])
    own[OF_OWN.wait] = ratio(wait, params.launch_delay) if mine[OUT] > 0 else 0
    own[OF_OWN.force_to_mean] = gap(mine[LOG_FORCE] - totals.game[LOG_MEAN_FORCE])
    own[OF_OWN.top] = ratio(1, 1 + ahead)


@njit
def count_above(game: Game, p: int) -> tuple[int, int]:
    """Return how many players have more land than ``p``, and how many have more troops."""
    land, troops = game.land[p], min(game.troops[p], MOST_TROOPS)
    ahead = richer = 0
    for q in range(np.uint64(1), np.uint64(len(game.alive))):
        ahead += game.land[q] > land
        richer += min(game.troops[q], MOST_TROOPS) > troops
    return ahead, richer


@njit
def compare_neighbours(game: Game, totals: PairTotals, p: int) -> tuple[int, int]:
    """Return the least density of the players beside ``p``, and their largest balance; -1: there is none."""
    thinnest, richest = LARGEST_RATIO + 1, -1
    for word in range(game.bordering.shape[1]):
        beside = players_beside(game, p, word)
        while beside != ZERO:
            q = 64 * word + lowest_bit(beside)
            beside &= beside - ONE
            thinnest = min(thinnest, totals.players[q, DENSITY])
            richest = max(richest, min(game.troops[q], MOST_TROOPS))
    return (thinnest if richest >= 0 else UNIT), richest


@njit
def players_beside(game: Game, p: int, word: int) -> Any:
    """Return a word of the set of owners that border on ``p``, without neutral land."""
    beside = game.bordering[p, word]
    return beside & ~ONE if word == 0 else beside


@njit
def find_candidates(game: Game, params: Params, p: int, owners: Any) -> int:
    """Write the owner codes of the candidates of ``p`` in their order, and return how many there are.

    Allies are none: these are owners that can be attacked.
    """
    count = first = 0
    if game.fronts[p, NEUTRAL] > 0:
        owners[0] = NEUTRAL
        count = first = 1
    for word in range(game.bordering.shape[1]):
        beside = players_beside(game, p, word)
        while beside != ZERO:
            q = 64 * word + lowest_bit(beside)
            beside &= beside - ONE
            if may_attack(game, params, p, q):
                count = put_among(game, p, q, owners, first, count, False)
    return count


@njit
def put_among(game: Game, p: int, q: int, owners: Any, first: int, count: int, are_allies: bool) -> int:
    """Put ``q`` in its place among ``count`` owners, those from ``first`` on, as far as there is room.

    Returned is how many there are then. All of them are enemies of ``p``, or ``are_allies``.
    """
    i = count
    while i > first and comes_before(game, p, q, owners[i - 1], are_allies):
        if i < len(owners):
            owners[i] = owners[i - 1]
        i -= 1
    if i < len(owners):
        owners[i] = q
    return min(count + 1, len(owners))


@njit
def comes_before(game: Game, p: int, q: int, other: int, are_allies: bool) -> bool:
    """Return whether ``q`` is shown to ``p`` before ``other``: by front, troops, land, and the way round.

    Allies are shown by land, troops, and the way round.
    """
    ahead = game.fronts[p, q] - game.fronts[p, other]
    if are_allies:
        ahead = game.land[q] - game.land[other]
    if ahead == 0:
        ahead = min(game.troops[q], MOST_TROOPS) - min(game.troops[other], MOST_TROOPS)
    if ahead == 0:
        ahead = game.land[q] - game.land[other]
    players = len(game.alive) - 1
    is_nearer = target_of_owner(q, p, players) < target_of_owner(other, p, players)
    return ahead > 0 or (ahead == 0 and is_nearer)


@njit
def see_neutral(game: Game, params: Params, totals: PairTotals, p: int, out: Any) -> None:
    """Write the row of neutral land."""
    for i in range(len(out)):
        out[i] = 0
    out[OF_PAIR.neutral] = UNIT
    see_front(game, params, totals, p, NEUTRAL, out)
    cost = params.neutral_cost * game.fronts[p, NEUTRAL]
    out[OF_PAIR.price] = part(cost, min(game.troops[p], MOST_TROOPS))


@njit
def see_player(game: Game, params: Params, totals: PairTotals, p: int, q: int, out: Any) -> None:
    """Write the row of player ``q``."""
    mine, its = totals.players[p], totals.players[q]
    land, troops = game.land[p], min(game.troops[p], MOST_TROOPS)
    its_land, its_troops = game.land[q], min(game.troops[q], MOST_TROOPS)
    sent, attack = min(game.pools[p, q], MOST_TROOPS), min(game.pools[q, p], MOST_TROOPS)
    density = its[LOG_TROOPS] - its[LOG_LAND]
    out[OF_PAIR.neutral] = 0
    see_front(game, params, totals, p, q, out)
    out[OF_PAIR.attack] = part(attack, troops)
    out[OF_PAIR.density] = gap(density)
    out[OF_PAIR.troops_ratio] = gap(its[LOG_TROOPS] - mine[LOG_TROOPS])
    out[OF_PAIR.land_ratio] = gap(its[LOG_LAND] - mine[LOG_LAND])
    out[OF_PAIR.density_ratio] = gap(density - (mine[LOG_TROOPS] - mine[LOG_LAND]))
    out[OF_PAIR.attacked] = part(its[IN] - sent, its_troops)
    out[OF_PAIR.sent] = its[SENT]
    out[OF_PAIR.peak_share] = its[PEAK_SHARE]
    out[OF_PAIR.land_share] = its[LAND_SHARE]
    out[OF_PAIR.to_leader] = its[TO_LEADER]
    out[OF_PAIR.border_neutral] = its[BORDER_NEUTRAL]
    out[OF_PAIR.border_ours] = ratio(game.fronts[q, p], its[BORDER])
    out[OF_PAIR.price] = part(attack_cost(game.fronts[p, q], its_troops, its_land, attack, params), troops)
    kill = death_cost(its_troops, its_land, game.peak[q], attack, params)
    out[OF_PAIR.kill] = gap(log_of(kill) - mine[LOG_TROOPS])
    out[OF_PAIR.lost] = part(game.taken[q, p], land)
    out[OF_PAIR.taken] = part(game.taken[p, q], land)
    out[OF_PAIR.neighbours] = its[NEIGHBOURS]
    out[OF_PAIR.force] = gap(its[LOG_FORCE] - mine[LOG_FORCE])
    if len(out) > OF_PAIR.ally:
        out[OF_PAIR.ally] = 0


@njit
def see_front(game: Game, params: Params, totals: PairTotals, p: int, target: int, out: Any) -> None:
    """Write the columns that neutral land and players share."""
    size, troops = game.fronts[p, target], min(game.troops[p], MOST_TROOPS)
    pool = min(game.pools[p, target], MOST_TROOPS)
    need, log_size = need_at_front(size, pool, params), log_of(size)
    out[OF_PAIR.there] = UNIT
    out[OF_PAIR.legal] = UNIT if is_affordable(need, largest_need(troops, params)) else 0
    out[OF_PAIR.front] = log_size
    out[OF_PAIR.border_share] = ratio(size, totals.players[p, BORDER])
    out[OF_PAIR.need] = part(need, troops)
    out[OF_PAIR.pool] = part(pool, troops)
    out[OF_PAIR.pool_per_cell] = gap(max(0, log_of(pool) - log_size))
