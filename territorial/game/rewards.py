"""Rewards of a step: parts by name for all players, then summed.

A part is one small kernel that fills a row, ``out`` (P+1,), for the decision just played.
"""

from typing import Any

import numpy as np

from territorial.config import Params
from territorial.config.rewards import BASE_NAMES, TEAM_BASE_NAMES
from territorial.game.scratch import LAND_OF_TEAM, Work
from territorial.game.state import NUM_LAND, OVER, TICK, Game
from territorial.game.teams import has_allies, is_in
from territorial.jit.decorators import njit
from territorial.jit.simd import fill

LAND_BEFORE, ALIVE_BEFORE, TAKEN_BEFORE, TICK_BEFORE, IN_BEFORE = range(5)
"""Rows of ``Work.before``; that of the tick has one entry, the last is written where there are allies."""

LAND, PLACEMENT, SURVIVAL, TAKEN, KILLS, TEAM_LAND = range(len(BASE_NAMES) + len(TEAM_BASE_NAMES))
KIND, IS_ZERO_SUM = 0, 1
"""Columns of ``Work.reward_kinds``."""


@njit
def remember(game: Game, params: Params, work: Work) -> None:
    """Keep how the game stands as a decision begins, as far as its rewards need it."""
    work.before[TICK_BEFORE, 0] = game.clock[TICK]
    for p in range(1, len(game.alive)):
        work.before[LAND_BEFORE, p] = game.land[p]
        work.before[ALIVE_BEFORE, p] = game.alive[p]
        if has_allies(params):
            work.before[IN_BEFORE, p] = is_in(game, params, p)
    for i in range(len(work.reward_kinds)):
        if work.reward_kinds[i, KIND] == TAKEN:
            count_taken(game, work.before[TAKEN_BEFORE])


@njit
def add_rewards(game: Game, params: Params, work: Work, rewards: Any, parts: Any, is_first: bool) -> None:
    """Add the rewards of all seats to ``rewards``, float32 (P,), their parts without weights to (K, P).

    The first decision of a call overwrites the arrays. Sums are float32, as if the rewards of single
    decisions were added up one by one. A player that was dead when the decision began gets nothing, except
    the parts of its team while that is not out.
    """
    for i in range(len(work.reward_kinds)):
        out = work.reward_parts[i]
        kind = work.reward_kinds[i, KIND]
        is_for_team = (kind == PLACEMENT) | (kind == TEAM_LAND)
        was_paid = work.before[in_before(params) if is_for_team else ALIVE_BEFORE]
        write_part(game, params, work, kind, out)
        for p in range(np.uint64(1), np.uint64(len(out))):
            out[p] = out[p] if was_paid[p] != 0 else 0.0
        if work.reward_kinds[i, IS_ZERO_SUM] != 0:
            take_off_mean(was_paid, out)
        for q in range(len(rewards)):
            parts[i, q] = added(parts[i, q], out[q + 1], is_first)
    add_up(work, rewards, is_first)


@njit
def add_up(work: Work, rewards: Any, is_first: bool) -> None:
    """Add the sum of all parts times their weights for every seat; rounded once, at the end.

    Part after part for all seats: there are few parts and many seats, and processors add several at once.
    """
    fill(work.reward_totals, 0.0)
    for i in range(len(work.reward_weights)):
        weight = work.reward_weights[i]
        for p in range(np.uint64(1), np.uint64(len(work.reward_totals))):
            work.reward_totals[p] += weight * work.reward_parts[i, p]
    for q in range(len(rewards)):
        rewards[q] = added(rewards[q], work.reward_totals[q + 1], is_first)


@njit
def added(before: Any, number: float, is_first: bool) -> Any:
    """Return the float32 ``number``, added to the one ``before`` unless it is the first of a call."""
    return np.float32(number) if is_first else before + np.float32(number)


@njit
def write_part(game: Game, params: Params, work: Work, kind: int, out: Any) -> None:
    """Write the part ``kind`` of every player; NaN for an unknown part."""
    if has_allies(params) and kind == TEAM_LAND:
        land_gained_by_team(game, work, out)
    elif (kind == LAND) | (kind == TEAM_LAND):
        land_gained(game, work, out)
    elif kind == PLACEMENT:
        placement(game, params, work, out)
    elif kind == SURVIVAL:
        survival(game, work, out)
    elif kind == TAKEN:
        taken(game, work, out)
    elif kind == KILLS:
        kills(game, work, out)
    else:
        for p in range(1, len(out)):
            out[p] = np.nan


# ---- the parts -------------------------------------------------------------------------------------


@njit
def land_gained(game: Game, work: Work, out: Any) -> None:
    """The change of the share of all land."""
    for p in range(1, len(out)):
        out[p] = (game.land[p] - work.before[LAND_BEFORE, p]) / game.clock[NUM_LAND]


@njit
def land_gained_by_team(game: Game, work: Work, out: Any) -> None:
    """The change of the share of all land that the team has."""
    gained = work.teams[LAND_OF_TEAM]
    fill(gained, 0)
    for p in range(1, len(out)):
        gained[game.team[p]] += game.land[p] - work.before[LAND_BEFORE, p]
    for p in range(1, len(out)):
        out[p] = gained[game.team[p]] / game.clock[NUM_LAND]


@njit
def placement(game: Game, params: Params, work: Work, out: Any) -> None:
    """At the last step of the player, or of its team, the value of the place; zero in sum over all teams."""
    for p in range(1, len(out)):
        is_last = work.before[in_before(params), p] != 0 and is_finished(game, params, p)
        out[p] = placement_reward(game.doubled_place[p], params.num_teams) if is_last else 0.0


@njit
def survival(game: Game, work: Work, out: Any) -> None:
    """The ticks lived, the one of the death included, as a share of the longest game."""
    before, longest = work.before[TICK_BEFORE, 0], work.longest[0]
    for p in range(1, len(out)):
        end = game.clock[TICK] if game.alive[p] != 0 else game.death_tick[p] + 1
        out[p] = (end - before) / longest


@njit
def taken(game: Game, work: Work, out: Any) -> None:
    """The cells taken, from any owner, as a share of all land; later losses do not count."""
    for p in range(1, len(out)):
        out[p] = (sum_of_row(game.taken, p) - work.before[TAKEN_BEFORE, p]) / game.clock[NUM_LAND]


@njit
def kills(game: Game, work: Work, out: Any) -> None:
    """The players that died in this step, each credited to the player that took most of its cells.

    Several that took equally many share the credit; no player has it where none took any.
    """
    fill(out, 0.0)
    for dead in range(1, len(out)):
        if work.before[ALIVE_BEFORE, dead] != 0 and game.alive[dead] == 0:
            credit(game.taken, dead, out)


@njit
def credit(cells: Any, dead: int, out: Any) -> None:
    """Share 1 among the players that took most cells from ``dead``; ``cells``: (P+1, P+1)."""
    most, count = 0, 0
    for p in range(1, len(out)):
        if cells[p, dead] > most:
            most, count = cells[p, dead], 1
        elif cells[p, dead] == most:
            count += 1
    for p in range(1, len(out)):
        if most > 0 and cells[p, dead] == most:
            out[p] += 1.0 / count


# ---- helpers ---------------------------------------------------------------------------------------


@njit
def take_off_mean(was_alive: Any, out: Any) -> None:
    """Subtract the mean over living players from each of them, so that their sum is about zero."""
    total, count = 0.0, 0
    for p in range(1, len(out)):
        if was_alive[p] != 0:
            total += out[p]
            count += 1
    for p in range(1, len(out)):
        if was_alive[p] != 0:
            out[p] -= total / count


@njit
def count_taken(game: Game, out: Any) -> None:
    """Write the cells that every player took so far."""
    for p in range(1, len(out)):
        out[p] = sum_of_row(game.taken, p)


@njit
def sum_of_row(cells: Any, p: int) -> int:
    """Return the sum of one row of (P+1, P+1)."""
    total = 0
    for target in range(cells.shape[1]):
        total += cells[p, target]
    return total


@njit
def in_before(params: Params) -> int:
    """Return the row of ``Work.before`` that marks players with an open place before the decision."""
    return IN_BEFORE if has_allies(params) else ALIVE_BEFORE


@njit
def is_finished(game: Game, params: Params, p: int) -> bool:
    """Return whether the place of ``p`` in this game is known."""
    return not is_in(game, params, p) or game.clock[OVER] != 0


@njit
def placement_reward(doubled_place: int, num_teams: int) -> float:
    """Return the value of a place, given as twice the place."""
    return 1.0 - (doubled_place - 2) / (num_teams - 1)
