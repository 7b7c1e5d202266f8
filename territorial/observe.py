"""Packing: what a policy may see of every game, written into the caller's buffers, once for all agents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial._jit import highest_bit, njit
from territorial.actions import num_targets
from territorial.config import GameConfig, Params
from territorial.constants import NEUTRAL
from territorial.obs_layout import BORDERS, GLOBALS, LARGEST_NEED, PLAYERS, index
from territorial.rules import (
    BASIS_POINTS,
    cadence,
    has_pools,
    need_for,
    opening_rate,
    rank_doubled,
    rate_for_land,
    rate_over_cap,
)
from territorial.state import NUM_LAND, TICK, Game
from territorial.work import Work


class Tables(NamedTuple):
    """What is observed of E games, absolute seat order; columns are those of territorial.obs_layout."""

    players: npt.NDArray[np.float32]  # (E, P, columns)
    borders: npt.NDArray[np.float32]  # (E, columns, P+1, P+1), by owner codes; row 0 is zero
    globals: npt.NDArray[np.float32]  # (E, columns)
    masks: npt.NDArray[np.uint8]  # (E, P, ceil((P+2)/8)): bit 0 holds, bit t+1 a launch against t


def allocate_tables(config: GameConfig, num_games: int) -> Tables:
    """Return zeroed buffers for ``num_games`` games."""
    seats = config.num_players
    return Tables(
        players=np.zeros((num_games, seats, len(PLAYERS)), np.float32),
        borders=np.zeros((num_games, len(BORDERS), seats + 1, seats + 1), np.float32),
        globals=np.zeros((num_games, len(GLOBALS)), np.float32),
        masks=np.zeros((num_games, seats, -(-num_targets(seats) // 8)), np.uint8),
    )


(
    _ALIVE,
    _LAND,
    _TROOPS,
    _LOG_LAND,
    _LOG_TROOPS,
    _DENSITY,
    _FILL,
    _INTEREST,
    _LAND_SHARE,
    _TROOPS_SHARE,
    _RANK,
    _POOLS_OUT,
    _POOLS_IN,
    _LOG_POOLS_OUT,
    _LOG_POOLS_IN,
    _PEAK,
    _PEAK_RATIO,
    _TICKS_TO_STEP,
    _CADENCE,
    _ILLEGAL,
) = range(len(PLAYERS))
_FRONT, _POOL, _LOG_FRONT, _LOG_POOL, _TAKEN, _NEED = range(len(BORDERS))
(
    _TICK,
    _TICKS_TO_INTEREST,
    _TICKS_TO_INCOME,
    _NEUTRAL_SHARE,
    _OPENING,
    _ALIVE_SHARE,
) = range(len(GLOBALS))


@njit
def observe(game: Game, params: Params, work: Work, tables: Tables, k: int) -> None:
    """Write what there is to see of ``game`` into entry ``k`` of ``tables``."""
    observe_globals(game, params, tables.globals[k])
    observe_borders(game, params, tables.borders[k], tables.masks[k])
    observe_players(game, params, work, tables.players[k])


@njit
def observe_globals(game: Game, params: Params, out: Any) -> None:
    """Write the numbers that are the same for everybody; ``out``: float32 (columns,)."""
    now = game.clock[TICK]
    living = 0
    for p in range(1, len(game.alive)):
        living += game.alive[p]
    out[_TICK] = now
    out[_TICKS_TO_INTEREST] = params.interest_every - 1 - now % params.interest_every
    out[_TICKS_TO_INCOME] = params.income_every - 1 - now % params.income_every
    out[_NEUTRAL_SHARE] = game.land[NEUTRAL] / game.clock[NUM_LAND]
    out[_OPENING] = max(0.0, 1.0 - now / params.early_interest_ticks)
    out[_ALIVE_SHARE] = living / params.num_players


@njit
def observe_borders(game: Game, params: Params, out: Any, masks: Any) -> None:
    """Write fronts, pools and needs of all pairs, and which launches are legal.

    ``out``: float32 (columns, P+1, P+1); ``masks``: uint8 (P, bytes).
    """
    for p in range(1, len(game.alive)):
        for byte in range(masks.shape[1]):
            masks[p - 1, byte] = 0
        masks[p - 1, 0] = 1
        for target in range(len(game.alive)):
            size, pool, troops = game.fronts[p, target], game.pools[p, target], game.troops[p]
            need = need_for(size, pool, params)
            out[_FRONT, p, target], out[_LOG_FRONT, p, target] = size, log2_of(size)
            out[_POOL, p, target], out[_LOG_POOL, p, target] = pool, log2_of(pool)
            out[_TAKEN, p, target] = game.taken[p, target]
            out[_NEED, p, target] = min(LARGEST_NEED, need / max(1, troops))
            if 0 < need <= troops // params.need_divisor:
                masks[p - 1, (target + 1) >> 3] |= np.uint8(1 << ((target + 1) & 7))


@njit
def observe_players(game: Game, params: Params, work: Work, out: Any) -> None:
    """Write one row per seat; ``out``: float32 (P, columns)."""
    total = 0
    for p in range(1, len(game.troops)):
        total += game.troops[p]
    for p in range(1, len(game.troops)):
        row = out[p - 1]
        land, troops = game.land[p], game.troops[p]
        pools_out, pools_in = pools_of(game, p)
        row[_ALIVE], row[_LAND], row[_TROOPS] = game.alive[p], land, troops
        row[_LOG_LAND], row[_LOG_TROOPS] = log2_of(land), log2_of(troops)
        row[_DENSITY] = troops / max(1, land)
        row[_FILL] = troops / max(1, params.soft_cap * land)
        row[_INTEREST] = rate_now(game, params, work, p) * 100 / BASIS_POINTS
        row[_LAND_SHARE] = land / game.clock[NUM_LAND]
        row[_TROOPS_SHARE] = troops / max(1, total)
        row[_RANK] = (game.place2[p] if game.place2[p] != 0 else rank_doubled(game, p)) / 2
        row[_POOLS_OUT], row[_POOLS_IN] = pools_out, pools_in
        row[_LOG_POOLS_OUT], row[_LOG_POOLS_IN] = log2_of(pools_out), log2_of(pools_in)
        row[_PEAK], row[_PEAK_RATIO] = game.peak[p], land / max(1, game.peak[p])
        wait = max(0, game.next_step[p] - game.clock[TICK])
        row[_TICKS_TO_STEP] = wait if has_pools(game, p) else 0
        row[_CADENCE], row[_ILLEGAL] = cadence(land, params), game.illegal[p]


@njit
def pools_of(game: Game, p: int) -> tuple[int, int]:
    """Return the troops that ``p`` has in the field, and those of others against ``p``."""
    out_total, in_total = 0, 0
    for q in range(len(game.troops)):
        out_total += game.pools[p, q]
        in_total += game.pools[q, p]
    return out_total, in_total


@njit
def rate_now(game: Game, params: Params, work: Work, p: int) -> int:
    """Return the interest rate of ``p`` in basis points if it were paid now; 0 for the dead."""
    land = game.land[p]
    if game.alive[p] == 0 or land == 0:
        return 0
    rate = rate_for_land(land, game.clock[NUM_LAND], params, work.interest_rate)
    rate = max(rate, opening_rate(game.clock[TICK], params))
    return rate_over_cap(rate, game.troops[p], params.soft_cap * land, params.over_cap_slope)


@njit
def log2_of(amount: int) -> float:
    """Return log2(1 + amount), straight between powers of two: exact arithmetic, the same everywhere."""
    shifted = np.uint64(amount + 1)
    exponent = highest_bit(shifted)
    return exponent + ((amount + 1) / (1 << exponent) - 1.0)


def column(tables: Tables, table: str, name: str) -> npt.NDArray[np.float32]:
    """Return the column ``name`` of ``table`` (players, borders or globals) for all games, as a view."""
    columns = {"players": PLAYERS, "borders": BORDERS, "globals": GLOBALS}
    if table not in columns:
        raise KeyError(f"no table {table!r}; there are {', '.join(columns)}")
    position = index(columns[table], name)
    array: npt.NDArray[np.float32] = getattr(tables, table)
    return array[:, position] if table == "borders" else array[..., position]
