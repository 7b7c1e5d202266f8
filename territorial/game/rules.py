"""Compiled rules of the game: one tick, then each rule in order.

Players own cells of a grid and keep troops at home. Home troops earn interest, land earns income, and
both stop at a cap that grows with the land. A player launches troops against a neighbour or neutral
land; they form a pool that stays in the field. Every few ticks a player with pools takes a step. Each
pool tries to take the whole border with its target in one go, paying for the cells and their
defence. A pool that cannot afford it spends what it has on the defenders, and a pool too small to
try comes home. A player that shrinks to a quarter of the largest size dies, and the land becomes free.
The game ends with one player left, with one player on nearly all land, or with time. Where players have
allies, launches may be gifts, and teams end the game: ``territorial.game.teams``.

docs/rules.md defines these rules, and ``tests.twin`` is a slow implementation of that page in plain
Python. Everything is int64 arithmetic on non-negative numbers, so ``//`` rounds down.
Kernels never raise: what is not legal is counted and does nothing.
"""

from typing import Any

import numpy as np

from territorial.config import RECIPROCAL_BITS, Params
from territorial.constants import NEUTRAL, STREAM_ORDER
from territorial.game.board import (
    CellSet,
    add_to_set,
    clear_words,
    copy_cells,
    drop_from_set,
    empty,
    gain_front,
    is_in_set,
    list_blocks,
)
from territorial.game.formulas import (
    amount_sent,
    draw,
    is_legal,
    largest_need,
    may_donate,
    need_for,
    sort_by_key,
    tax_on,
    wanted_of,
)
from territorial.game.fronts import Attack, follow_death, mark, take_front
from territorial.game.scratch import (
    GIVEN,
    LAND_OF_TEAM,
    LAUNCH_FRACTION,
    LAUNCH_SEAT,
    LAUNCH_TARGET,
    LAUNCH_TICK,
    LIVING,
    SHOWN,
    LaunchList,
    Work,
    note_changes,
)
from territorial.game.state import (
    CANCELLED,
    CAPPED,
    DESTROYED,
    DONATED,
    FUTURE,
    INCOME,
    INTEREST,
    KILLED,
    LAND_CHANGED,
    NEXT_DUE,
    NUM_LAND,
    OVER,
    PAID_ATTACK,
    PAID_NEUTRAL,
    RECEIVED,
    TAX,
    TICK,
    Game,
    cells_of,
)
from territorial.game.teams import (
    are_allies_in,
    has_allies,
    place_doubled,
    place_teams_left,
    place_teams_out,
    rank_doubled,
    sum_teams,
)
from territorial.jit.decorators import ONE, ZERO, lowest_bit, njit, popcount, quotient

BASIS_POINTS = 10_000
DEFENCE_UNIT = 10
LEAST_GIFT = 1
"""Troops that any donation gives."""
NEVER = 2**62
"""A tick that no game reaches."""


@njit
def tick(game: Game, params: Params, work: Work, launches: LaunchList) -> None:
    """Play one tick, in the five steps that docs/rules.md has under "One tick".

    Of ``launches`` those that are for this tick are made: none unless it is a decision point.
    """
    now = game.clock[TICK]
    # 1. Launches
    make_launches(game, params, work, launches)
    # 2. Interest and income
    if is_last_of(now, params.interest_every):
        pay_interest(game, params, work)
    if is_last_of(now, params.income_every):
        pay_income(game, params)
    # 3. Attack steps
    if now >= game.clock[NEXT_DUE]:
        step_all_due(game, params, work)
    # 4. Peaks and deaths
    is_new_land = game.clock[LAND_CHANGED] != 0
    dying = mark_the_dying(game, params) if is_new_land else 0
    follow_peaks(game, params)
    if dying > 0:
        bury_the_dead(game, params, work, dying)
    # 5. The end
    if is_new_land or now + 1 >= params.max_ticks:
        end_the_game(game, params, work)
    game.clock[LAND_CHANGED] = 0
    game.clock[TICK] = now + 1


# ---- launching ------------------------------------------------------------------------------------


@njit
def make_launches(game: Game, params: Params, work: Work, launches: LaunchList) -> None:
    """Make the launches of this tick one after another; each touches its own player's numbers alone.

    All ticks up to the next decision point are given the same list. One without launches from the second on
    would make the compiler write the whole tick twice: for the first, and for those that need not look.
    """
    if has_allies(params):
        make_launches_of_teams(game, params, work, launches)
        return
    rows = launches.rows
    for i in range(launches.first, launches.end):
        if rows[i, LAUNCH_TICK] != game.clock[TICK]:
            break
        launch(game, params, rows[i, LAUNCH_SEAT], rows[i, LAUNCH_TARGET], rows[i, LAUNCH_FRACTION])


@njit
def launch(game: Game, params: Params, p: int, target: int, fraction: int) -> None:
    """Player ``p`` sends ``fraction`` 1024ths of the balance against ``target``, for a tax.

    Too little is raised to what a first layer needs; what is not legal is counted and does nothing.
    There is no front with oneself, nor with or of an eliminated player, so need is 0 there.
    """
    need = need_for(game.fronts[p, target], game.pools[p, target], params)
    troops = game.troops[p]
    if not is_legal(need, largest_need(troops, params)):
        game.illegal[p] += 1
        return
    tax, wanted = tax_on(troops, params), wanted_of(troops, fraction)
    amount = amount_sent(wanted, need, troops, params)
    if wanted < need:
        game.raised[p] += 1
    game.troops[p] = troops - tax - amount
    game.ledger[TAX, p] += tax
    if not has_pools(game, p):
        game.next_step[p] = game.clock[TICK] + params.launch_delay
    if game.pools[p, target] == 0:
        add_to_set(game.fresh, p, target)
    set_pool(game, p, target, game.pools[p, target] + amount)
    game.clock[NEXT_DUE] = min(game.clock[NEXT_DUE], game.due[p])


@njit
def make_launches_of_teams(game: Game, params: Params, work: Work, launches: LaunchList) -> None:
    """Make the launches of this tick where some may be donations; gifts arrive after all of them."""
    rows, now = launches.rows, game.clock[TICK]
    if launches.first == launches.end or rows[launches.first, LAUNCH_TICK] != now:
        return
    for p in range(len(game.troops)):
        work.gifts[SHOWN, p], work.gifts[GIVEN, p] = game.troops[p], 0
    for i in range(launches.first, launches.end):
        p, target, fraction = rows[i, LAUNCH_SEAT], rows[i, LAUNCH_TARGET], rows[i, LAUNCH_FRACTION]
        if are_allies_in(game, p, target):
            donate(game, params, work, p, target, fraction)
        else:
            launch(game, params, p, target, fraction)
    deliver_gifts(game, params, work)


@njit
def donate(game: Game, params: Params, work: Work, p: int, ally: int, fraction: int) -> None:
    """Player ``p`` gives ``fraction`` 1024ths of the balance to ``ally``, at least one troop, for a tax."""
    troops = game.troops[p]
    if not may_donate(troops, work.gifts[SHOWN, ally], game.land[ally], params):
        game.illegal[p] += 1
        return
    tax, wanted = tax_on(troops, params), wanted_of(troops, fraction)
    amount = amount_sent(wanted, LEAST_GIFT, troops, params)
    if wanted < LEAST_GIFT:
        game.raised[p] += 1
    game.troops[p] = troops - tax - amount
    work.gifts[GIVEN, ally] += amount
    game.ledger[TAX, p] += tax
    game.ledger[DONATED, p] += amount


@njit
def deliver_gifts(game: Game, params: Params, work: Work) -> None:
    """All that allies have given to a player arrives at once, up to the cap."""
    for p in range(1, len(game.troops)):
        given = work.gifts[GIVEN, p]
        paid = min(given, room_under_cap(game.troops[p], game.land[p], params))
        game.troops[p] += paid
        game.ledger[RECEIVED, p] += given
        game.ledger[CAPPED, p] += given - paid


# ---- interest and income --------------------------------------------------------------------------


@njit
def pay_interest(game: Game, params: Params, work: Work) -> None:
    """Every living player earns interest on the troops at home, at least one, up to the hard cap."""
    opening = opening_rate(game.clock[TICK], params)
    for p in range(1, len(game.troops)):
        land, troops = game.land[p], game.troops[p]
        if game.alive[p] != 0 and land > 0:
            rate = max(rate_for_land(land, game.clock[NUM_LAND], params, work.interest_rate), opening)
            rate = rate_over_cap(rate, troops, params.soft_cap * land, params.over_cap_slope)
            room = room_under_cap(troops, land, params)
            gain = min(max(1, quotient(rate * troops, BASIS_POINTS)), room)
            game.troops[p] = troops + gain
            game.ledger[INTEREST, p] += gain


@njit
def pay_income(game: Game, params: Params) -> None:
    """Every living player earns troops for the land, up to the hard cap."""
    for p in range(1, len(game.troops)):
        if game.alive[p] != 0:
            room = room_under_cap(game.troops[p], game.land[p], params)
            gain = min(params.income_per_cell * game.land[p], room)
            game.troops[p] += gain
            game.ledger[INCOME, p] += gain


# ---- attack steps ---------------------------------------------------------------------------------


@njit
def step_all_due(game: Game, params: Params, work: Work) -> None:
    """All due players step one after another, in an order drawn every tick."""
    count = find_due(game, work)
    if count > 1:
        sort_by_key(work.due, work.keys, count)
    for i in range(count):
        p = work.due[i]
        attack_step(game, params, work, p)
        game.next_step[p] = game.clock[TICK] + cadence(game.land[p], params)
        set_due(game, p)
    game.clock[NEXT_DUE] = earliest_step(game)


@njit
def find_due(game: Game, work: Work) -> int:
    """List the players that step in this tick, with their keys in the order of play; return how many."""
    now, count = game.clock[TICK], 0
    for word in range(game.active.shape[1]):
        due = due_in_word(game, word)
        while due != ZERO:
            p = 64 * word + lowest_bit(due)
            work.due[count] = p
            work.keys[count] = draw(game.seed[FUTURE], STREAM_ORDER, now, p)
            count += 1
            due &= due - ONE
    return count


@njit
def due_in_word(game: Game, word: int) -> Any:
    """Return which of the players in a word of a set of owners step in this tick, without a branch."""
    due, first, end = ZERO, max(1, 64 * word), min(64 * word + 64, len(game.due))
    for p in range(np.uint64(first), np.uint64(end)):
        due |= np.uint64(game.clock[TICK] >= game.due[p]) << (p & np.uint64(63))
    return due


@njit
def earliest_step(game: Game) -> int:
    """Return the first tick at which any player with pools may step."""
    earliest = NEVER
    for p in range(np.uint64(1), np.uint64(len(game.due))):
        earliest = min(earliest, game.due[p])
    return earliest


@njit
def attack_step(game: Game, params: Params, work: Work, p: int) -> None:
    """Every pool of ``p`` fights for one layer; returning troops are paid out at the end, up to the cap.

    All fronts are as they stood when the turn began. Taking cells from one target changes no other
    target's cells, but ``p`` grows: with more than one pool, what was ``p``'s own is copied first.
    """
    has_many = count_targets(game, p) > 1
    if has_many:
        copy_cells(cells_of(game, p), work.own)
        for target in range(np.uint64(len(work.sizes))):
            work.sizes[target] = game.fronts[p, target]
    own = CellSet(work.own if has_many else game.planes[p], game.occupied[p])
    sizes = work.sizes if has_many else game.fronts[p]
    refunds = 0
    for word in range(game.active.shape[1]):
        targets = game.active[p, word]
        while targets != ZERO:
            target = 64 * word + lowest_bit(targets)
            refunds += fight(game, params, work, Attack(p, target, own, sizes[target]))
            targets &= targets - ONE
        game.fresh[p, word] = ZERO
    if has_many:
        clear_words(CellSet(work.own, game.occupied[p]))
    paid = min(refunds, room_under_cap(game.troops[p], game.land[p], params))
    game.troops[p] += paid
    game.ledger[CAPPED, p] += refunds - paid


@njit
def count_targets(game: Game, p: int) -> int:
    """Return against how many owners ``p`` has pools."""
    count = 0
    for word in range(game.active.shape[1]):
        count += popcount(game.active[p, word])
    return count


@njit
def fight(game: Game, params: Params, work: Work, attack: Attack) -> int:
    """The pool of the taker against the giver fights for the front; return the troops that come home."""
    p, target, size = attack.taker, attack.giver, attack.size
    pool = game.pools[p, target]
    layers = quotient(pool, size) if size > 0 else 0
    if layers < params.min_layers:
        game.bounced[p] += is_in_set(game.fresh, p, target)
        set_pool(game, p, target, 0)
        return pool
    if target == NEUTRAL:
        price = params.neutral_cost * size
        game.ledger[PAID_NEUTRAL, p] += price
        is_won = True
    else:
        available = layers * size
        cost = attack_cost(size, game.troops[target], game.land[target], game.pools[target, p], params)
        is_won = available > cost
        price = cost if is_won else available
        game.ledger[PAID_ATTACK, p] += price
        hit_defender(game, params, p, target, price - params.attack_cost * size)
    if is_won:
        conquer(game, work, attack)
    set_pool(game, p, target, pool - price if is_won else 0)
    return 0 if is_won else pool - price


@njit
def hit_defender(game: Game, params: Params, p: int, target: int, force: int) -> None:
    """``force`` first cancels the target's own pool against ``p``, then kills defenders at home."""
    opposing = game.pools[target, p]
    cancelled = min(opposing, force)
    if cancelled > 0:
        set_pool(game, target, p, opposing - cancelled)
        game.ledger[CANCELLED, target] += cancelled
    killed = min(game.troops[target], (force - cancelled) // params.attackers_per_defender)
    game.troops[target] -= killed
    game.ledger[KILLED, target] += killed


@njit
def conquer(game: Game, work: Work, attack: Attack) -> None:
    """The taker gets the whole front."""
    p, target, size = attack.taker, attack.giver, attack.size
    take_front(game, work, attack)
    game.land[p] += size
    game.land[target] -= size
    game.taken[p, target] += size
    game.clock[LAND_CHANGED] = 1


# ---- peaks, deaths, end ---------------------------------------------------------------------------


@njit
def mark_the_dying(game: Game, params: Params) -> int:
    """Mark players that shrank to a quarter of their peak (``alive`` = -1); return how many there are.

    Needed only when land changed hands: otherwise peaks can only have come down towards the land.
    """
    dying = 0
    if params.deaths == 0:
        return dying
    for p in range(np.uint64(1), np.uint64(len(game.alive))):
        dying += is_dying(game.alive[p], game.land[p], game.peak[p], params.death_divisor)
    if dying > 0:
        for p in range(1, len(game.alive)):
            if is_dying(game.alive[p], game.land[p], game.peak[p], params.death_divisor):
                game.alive[p] = -1
    return dying


@njit
def follow_peaks(game: Game, params: Params) -> None:
    """Peaks of living players rise with the land at once and fall towards it slowly.

    They fall by a thousandth of the distance, at least by one cell, a tick. With land >= peak the fall
    is 1 as well (the shifted product is not positive then), and the larger term is the land. So one
    expression serves all cases, without a branch, as this runs for all players in every tick.
    """
    for p in range(np.uint64(1), np.uint64(len(game.peak))):
        land, peak = game.land[p], game.peak[p]
        fall = max(1, ((peak - land) * params.peak_decay_reciprocal) >> RECIPROCAL_BITS)
        game.peak[p] = max(land, peak - fall) if game.alive[p] > 0 else peak


@njit
def bury_the_dead(game: Game, params: Params, work: Work, dying: int) -> None:
    """All players marked as dying lose everything at once; pools against them now face neutral land.

    They have their places by now; with allies, once all of these are dead, too.
    """
    if has_allies(params):
        place_teams_out(game, params, work)
    survivors = 0
    for p in range(1, len(game.alive)):
        survivors += game.alive[p] > 0
    for p in range(1, len(game.alive)):
        if game.alive[p] < 0:
            if not has_allies(params):
                game.doubled_place[p] = place_doubled(survivors, dying)
            game.death_tick[p] = game.clock[TICK]
            lose_everything(game, work, p)
    for p in range(1, len(game.alive)):
        if game.alive[p] < 0:
            turn_pools_to_neutral(game, p)
    for p in range(1, len(game.alive)):
        game.alive[p] = max(game.alive[p], 0)


@njit
def lose_everything(game: Game, work: Work, dead: int) -> None:
    """The troops and pools of ``dead`` are destroyed, and the cells become neutral."""
    lost = game.troops[dead]
    for target in range(len(game.alive)):
        lost += game.pools[dead, target]
        game.pools[dead, target] = 0
        mark(game, dead, target)
    for word in range(game.active.shape[1]):
        game.active[dead, word] = ZERO
        game.fresh[dead, word] = ZERO
    game.due[dead] = NEVER
    game.ledger[DESTROYED, dead] += lost
    game.troops[dead] = 0
    follow_death(game, dead)
    cells = cells_of(game, dead)
    blocks = list_blocks(cells, work.listed)
    note_changes(work, cells, blocks, dead, NEUTRAL)
    gain_front(cells_of(game, NEUTRAL), cells, blocks)
    empty(cells.blocks)
    game.land[NEUTRAL] += game.land[dead]
    game.land[dead] = 0


@njit
def turn_pools_to_neutral(game: Game, dead: int) -> None:
    """Every pool against ``dead`` goes on against neutral land; that is no new opening of a pool."""
    for q in range(1, len(game.alive)):
        pool = game.pools[q, dead]
        if pool > 0:
            set_pool(game, q, dead, 0)
            set_pool(game, q, NEUTRAL, game.pools[q, NEUTRAL] + pool)


@njit
def end_the_game(game: Game, params: Params, work: Work) -> None:
    """The game ends with at most one player left, with one on nearly all land, or with time."""
    if has_allies(params):
        end_the_game_of_teams(game, params, work)
        return
    living, largest = 0, 0
    for p in range(np.uint64(1), np.uint64(len(game.alive))):
        living += game.alive[p]
    for p in range(np.uint64(1), np.uint64(len(game.land))):
        largest = max(largest, game.land[p])
    is_won = 100 * largest >= params.win_percent * game.clock[NUM_LAND]
    if (living <= 1) | is_won | (game.clock[TICK] + 1 >= params.max_ticks):
        game.clock[OVER] = 1
        place_the_living(game)


@njit
def end_the_game_of_teams(game: Game, params: Params, work: Work) -> None:
    """The game ends with living members of at most one team, with one on nearly all land, or with time."""
    sum_teams(game, work.teams)
    left, largest = 0, 0
    for team in range(1, params.num_teams + 1):
        left += work.teams[LIVING, team] > 0
        largest = max(largest, work.teams[LAND_OF_TEAM, team])
    is_won = 100 * largest >= params.win_percent * game.clock[NUM_LAND]
    if (left <= 1) | is_won | (game.clock[TICK] + 1 >= params.max_ticks):
        game.clock[OVER] = 1
        place_teams_left(game, work)


@njit
def place_the_living(game: Game) -> None:
    """Living players are placed by land, then by troops; equals share the mean of their places."""
    for p in range(1, len(game.alive)):
        if game.alive[p] != 0:
            game.doubled_place[p] = rank_doubled(game.alive, game.land, game.troops, p)


# ---- pools ----------------------------------------------------------------------------------------


@njit
def set_pool(game: Game, p: int, target: int, amount: int) -> None:
    """``p`` has ``amount`` troops in the field against ``target``; the sets of owners follow."""
    game.pools[p, target] = amount
    mark(game, p, target)
    if amount > 0:
        add_to_set(game.active, p, target)
    else:
        drop_from_set(game.active, p, target)
        drop_from_set(game.fresh, p, target)
    set_due(game, p)


@njit
def set_due(game: Game, p: int) -> None:
    """``p`` steps when ``next_step`` says so if it has pools, else never."""
    game.due[p] = game.next_step[p] if has_pools(game, p) else NEVER


@njit
def has_pools(game: Game, p: int) -> bool:
    """Return whether ``p`` has any troops in the field (eliminated players have none)."""
    union = ZERO
    for word in range(game.active.shape[1]):
        union |= game.active[p, word]
    return union != ZERO


# ---- formulas: whole numbers in, whole numbers out ------------------------------------------------


@njit
def is_last_of(now: int, ticks: int) -> bool:
    """Return whether ``now`` is the last tick of a period of so many ``ticks``, the first of which is 0."""
    return quotient(now + 1, ticks) * ticks == now + 1


@njit
def is_dying(alive: int, land: int, peak: int, divisor: int) -> bool:
    """Return whether a living player with ``land`` has shrunk too far below its ``peak``."""
    return (alive != 0) & (divisor * land <= peak)


@njit
def opening_rate(now: int, params: Params) -> int:
    """Return the interest rate of the opening in basis points: it falls from a multiple to the base."""
    length, multiple = params.early_interest_ticks, params.early_interest_multiple
    if now >= length:
        return 0
    return params.interest_base * (multiple * length - (multiple - 1) * now) // length


@njit
def rate_for_land(land: int, num_land: int, params: Params, rates: Any) -> int:
    """Return the interest rate in basis points for the share of ``land``; never outside the table."""
    return rates[min(quotient(params.interest_levels * land, num_land), params.interest_levels)]


@njit
def rate_over_cap(rate: int, troops: int, cap: int, slope: int) -> int:
    """Return ``rate`` lowered by ``slope`` times the share by which ``troops`` exceed ``cap``."""
    if troops <= cap:
        return rate
    return max(0, rate - slope * rate * (troops - cap) // cap)


@njit
def room_under_cap(troops: int, land: int, params: Params) -> int:
    """Return how many more troops may come home before the hard cap."""
    return max(0, params.hard_cap * land - troops)


@njit
def attack_cost(size: int, troops: int, land: int, opposing: int, params: Params) -> int:
    """Return the cost of ``size`` cells of an owner with ``troops`` on ``land`` and a pool ``opposing``."""
    defence = quotient(size * troops, 1 + quotient(DEFENCE_UNIT * land, params.defence_tenths))
    return params.attack_cost * size + params.attackers_per_defender * defence + opposing


@njit
def death_cost(troops: int, land: int, peak: int, opposing: int, params: Params) -> int:
    """Return the approximate cost of bringing a player down to its death, without interference.

    Every cell that it has to lose is counted at its present cost. By default that is exact but for rounding,
    because a cell is defended by the density and one defender falls for each attacker.
    """
    return attack_cost(max(0, land - peak // params.death_divisor), troops, land, opposing, params)


@njit
def cadence(land: int, params: Params) -> int:
    """Return the ticks from one step to the next: the larger a player, the more often it steps."""
    if land < params.cadence_land_small:
        return 4
    if land < params.cadence_land_medium:
        return 3
    if land < params.cadence_land_large:
        return 2
    return 1
