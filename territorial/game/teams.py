"""Teams in a game: members, totals and places.

Nothing of this is in the machine code of games in which no seat has an ally: see ``has_allies``.
"""

from typing import Any

import numpy as np

from territorial.config import Params
from territorial.constants import NEUTRAL, STREAM_TEAM_DEAL
from territorial.game.formulas import are_allies, draw, sort_by_key
from territorial.game.scratch import LAND_OF_TEAM, LIVING, OUT, TROOPS_OF_TEAM, Work
from territorial.game.state import Game
from territorial.jit.decorators import ONE, ZERO, njit
from territorial.jit.simd import fill


@njit
def has_allies(params: Params) -> bool:
    """Return whether any seat has an ally; known at compile time, so that other games leave teams out."""
    return len(params.allied) > 0


@njit
def are_allies_in(game: Game, p: int, target: int) -> bool:
    """Return whether ``target``, an owner code, is an ally of ``p``."""
    return are_allies(p, target, game.team[p], game.team[target])


@njit
def may_attack(game: Game, params: Params, p: int, q: int) -> bool:
    """Return whether the team of ``p`` lets it attack ``q``: neutral land, or an enemy."""
    return not (has_allies(params) and game.team[p] == game.team[q])


@njit
def is_in(game: Game, params: Params, p: int) -> bool:
    """Return whether the place of ``p`` is open, before the end: the team has a living member."""
    return game.doubled_place[p] == 0 if has_allies(params) else game.alive[p] != 0


# ---- who is in which team -------------------------------------------------------------------------


@njit
def deal_teams(seed: Any, dealt: Any, is_random: int, order: Any, keys: Any, team: Any) -> None:
    """Write the ``team`` of every seat, int64 (P+1,), in a game with this ``seed``.

    ``dealt``: int64 (P+1,), the team of each seat, or where deals are random that of each place in the order
    drawn. ``order`` and ``keys``, int64 and uint64 (P+1,), are scratch memory.
    """
    count = len(dealt) - 1
    for i in range(count):
        order[i] = i + 1
    if is_random != 0:
        sort_by_draw(seed, STREAM_TEAM_DEAL, order, keys, count)
    team[NEUTRAL] = 0
    for i in range(count):
        team[order[i]] = dealt[i + 1]


@njit
def sort_by_draw(seed: Any, stream: int, numbers: Any, keys: Any, count: int) -> None:
    """Sort the first ``count`` seats or teams, which rise, by their draws of ``stream``."""
    for i in range(count):
        keys[i] = draw(seed, stream, 0, numbers[i])
    sort_by_key(numbers, keys, count)


@njit
def list_members(game: Game, sets: Any) -> None:
    """Write the members of every team as a set of owners: uint64 (P+1, K), by team."""
    fill(sets, ZERO)
    for p in range(1, len(game.team)):
        sets[game.team[p], p >> 6] |= ONE << np.uint64(p & 63)


# ---- the end and the places -----------------------------------------------------------------------


@njit
def sum_teams(game: Game, sums: Any) -> None:
    """Write living members, land and troops of every team: int64 (4, P+1), see ``Work.teams``."""
    fill(sums, 0)
    for p in range(1, len(game.team)):
        team = game.team[p]
        sums[LIVING, team] += game.alive[p] > 0
        sums[LAND_OF_TEAM, team] += game.land[p]
        sums[TROOPS_OF_TEAM, team] += game.troops[p]


@njit
def place_teams_out(game: Game, params: Params, work: Work) -> None:
    """Give teams that lose their last members in this tick their place, which all members get."""
    sum_teams(game, work.teams)
    for p in range(1, len(game.team)):
        if game.alive[p] < 0 and work.teams[LIVING, game.team[p]] == 0:
            work.teams[OUT, game.team[p]] = 1
    left, out = 0, 0
    for team in range(1, params.num_teams + 1):
        left += work.teams[LIVING, team] > 0
        out += work.teams[OUT, team]
    for p in range(1, len(game.team)):
        if work.teams[OUT, game.team[p]] != 0:
            game.doubled_place[p] = place_doubled(left, out)


@njit
def place_teams_left(game: Game, work: Work) -> None:
    """Teams with a living member get their places; ``sum_teams`` was called."""
    for p in range(1, len(game.team)):
        if work.teams[LIVING, game.team[p]] > 0:
            game.doubled_place[p] = rank_of_team_doubled(work.teams, game.team[p])


@njit
def rank_doubled(present: Any, land: Any, troops: Any, p: int) -> int:
    """Return twice the place of ``p`` among players, or teams, that are ``present``: by land, then troops.

    ``present``, ``land`` and ``troops``: int64 (P+1,).
    """
    better, equal = 0, 0
    for q in range(np.uint64(1), np.uint64(len(present))):
        more_land, more_troops = land[q] - land[p], troops[q] - troops[p]
        ahead = more_land if more_land != 0 else more_troops
        better += (present[q] != 0) & (ahead > 0)
        equal += (present[q] != 0) & (ahead == 0)
    return place_doubled(better, equal)


@njit
def rank_of_team_doubled(sums: Any, team: int) -> int:
    """Return twice the place that ``team`` has among teams with a living member; ``sums``: ``sum_teams``."""
    return rank_doubled(sums[LIVING], sums[LAND_OF_TEAM], sums[TROOPS_OF_TEAM], team)


@njit
def place_doubled(better: int, equal: int) -> int:
    """Return twice the mean of the places ``better`` + 1 .. ``better`` + ``equal``."""
    return 2 * better + equal + 1
