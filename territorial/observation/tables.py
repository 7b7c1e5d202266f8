"""Writes the observation of every game, once for all its agents."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import Params
from territorial.constants import NEUTRAL
from territorial.game.board import num_blocks, num_groups, num_strips
from territorial.game.formulas import is_affordable, largest_need, may_donate, need_at_front
from territorial.game.fronts import mark_all
from territorial.game.rules import (
    BASIS_POINTS,
    cadence,
    has_pools,
    opening_rate,
    rate_for_land,
    rate_over_cap,
)
from territorial.game.scratch import POOLS_IN, POOLS_OUT, Work, forget_changes
from territorial.game.state import NUM_LAND, TICK, Game
from territorial.game.teams import (
    are_allies_in,
    has_allies,
    list_members,
    rank_doubled,
    rank_of_team_doubled,
    sum_teams,
)
from territorial.jit.decorators import ONE, TOP_BIT, ZERO, highest_bit, lowest_bit, njit
from territorial.jit.simd import EIGHT, aligned_zeros, at, put_at
from territorial.observation.layout import (
    GLOBALS,
    LARGEST_NEED,
    NEW_GAME,
    ObsLayout,
    columns,
    positions,
)
from territorial.observation.packing import (
    ChangedCells,
    PackedFrames,
    note_differences,
    pack_board,
    pack_changes,
)

BYTES_A_WORD = 8
LOW_BYTE = np.uint64(0xFF)
POWERS_OF_HALF = 0.5 ** np.arange(64)
"""Exact, so multiplying by one is dividing by a power of two."""


class Observations(NamedTuple):
    """Observations of E games, in absolute seat order; ``territorial.observation.layout`` lists the arrays.

    F frames, B bit planes, D most cells in a delta, P seats.
    """

    planes: npt.NDArray[np.uint8]  # (E, F, B, H, ceil(W/8))
    delta_index: npt.NDArray[np.uint32]  # (E, D)
    delta_code: npt.NDArray[np.uint8]  # (E, D)
    delta_count: npt.NDArray[np.int32]  # (E,)
    players: npt.NDArray[np.float32]  # (E, P, columns)
    borders: npt.NDArray[np.float32]  # (E, columns, P+1, P+1), by owner codes; row 0 is zero
    globals: npt.NDArray[np.float32]  # (E, columns)
    masks: npt.NDArray[np.uint8]  # (E, P, ceil((P+2)/8)): bit 0 holds, bit t+1 a launch against t


class Buffers(NamedTuple):
    """The memory behind ``Observations``: boards in words, and which bands of older frames are not zero."""

    boards: npt.NDArray[np.uint64]  # (E, F, B, rows, S), see territorial.observation.packing
    history: npt.NDArray[np.uint64]  # (E, F, B, groups)
    delta_index: npt.NDArray[np.uint32]
    delta_code: npt.NDArray[np.uint8]
    delta_count: npt.NDArray[np.int32]
    players: npt.NDArray[np.float32]
    borders: npt.NDArray[np.float32]
    globals: npt.NDArray[np.float32]
    masks: npt.NDArray[np.uint8]


def allocate_buffers(layout: ObsLayout, num_games: int) -> Buffers:
    """Return zeroed buffers for ``num_games`` games."""
    strips = num_strips(layout.width)
    rows = EIGHT * num_blocks(layout.height)
    boards = (num_games, layout.frames, layout.num_planes, rows, strips)
    return Buffers(
        boards=aligned_zeros(boards, np.uint64),
        history=np.zeros((*boards[:3], num_groups(layout.height)), np.uint64),
        delta_index=np.zeros((num_games, *layout.shape("delta_index")), np.uint32),
        delta_code=np.zeros((num_games, *layout.shape("delta_code")), np.uint8),
        delta_count=np.full(num_games, NEW_GAME, np.int32),
        players=np.zeros((num_games, *layout.shape("players")), np.float32),
        borders=np.zeros((num_games, *layout.shape("borders")), np.float32),
        globals=np.zeros((num_games, *layout.shape("globals")), np.float32),
        masks=np.zeros((num_games, *layout.shape("masks")), np.uint8),
    )


def observations_of(buffers: Buffers, layout: ObsLayout) -> Observations:
    """Return the buffers as people know them: read-only views, as every step builds on the last."""
    arrays: list[Any] = [planes_of(buffers.boards, layout), *(array.view() for array in buffers[2:])]
    for array in arrays:
        array.flags.writeable = False
    return Observations(*arrays)


def planes_of(boards: npt.NDArray[np.uint64], layout: ObsLayout) -> npt.NDArray[np.uint8]:
    """Return the bit planes in the words of ``boards``, as a view without padding."""
    return boards.view(np.uint8)[..., : layout.height, : layout.row_bytes]


OF_PLAYER: Any = positions(columns("players", teams=True))
OF_BORDER: Any = positions(columns("borders", teams=True))
OF_GAME: Any = positions(GLOBALS)
"""Where the columns of the tables are, by their names."""


def restore_frames(buffers: Buffers, k: int, saved: npt.NDArray[np.uint64]) -> None:
    """Put ``saved``, XORs of a stack (F-1, B, rows, S), below the board of game ``k`` if they are enough."""
    missing = max(0, buffers.boards.shape[1] - 1)
    if saved.shape[1:] != buffers.boards.shape[2:] or len(saved) < missing:
        return
    older = saved[:missing]
    buffers.boards[k, 1:] = older
    entries, num_planes, rows, strips = older.shape
    words = older.reshape(entries, num_planes, rows * strips)
    bands = np.bitwise_or.reduceat(words, np.arange(0, rows * strips, EIGHT * strips), axis=2) != 0
    padded = np.zeros((entries, num_planes, 64 * buffers.history.shape[-1]), np.bool_)
    padded[..., : bands.shape[2]] = bands
    buffers.history[k, 1:] = np.packbits(padded, axis=-1, bitorder="little").view("<u8")


@njit
def frames_of(buffers: Buffers, k: int) -> PackedFrames:
    """Return the frames of game ``k``, as views."""
    return PackedFrames(buffers.boards[k], buffers.history[k])


@njit
def observe_anew(game: Game, params: Params, work: Work, buffers: Buffers, k: int) -> None:
    """Write all there is to see of ``game`` into entry ``k``, whatever was there before."""
    mark_all(game)
    forget_changes(work)
    if buffers.boards.shape[1] > 0:
        buffers.delta_count[k] = pack_board(game, params, frames_of(buffers, k))
    for p in range(1, len(game.alive)):
        buffers.players[k, p - 1, OF_PLAYER.alive] = 1  # no player is skipped
    if buffers.players.shape[2] > OF_PLAYER.team:
        observe_teams(game, buffers.players[k], buffers.borders[k])
    observe_tables(game, params, work, buffers, k)


@njit
def observe_step(game: Game, params: Params, work: Work, buffers: Buffers, k: int) -> None:
    """Bring entry ``k``, which shows ``game`` as it was before the step, up to date."""
    if buffers.boards.shape[1] > 0:
        changed = ChangedCells(buffers.delta_index[k], buffers.delta_code[k])
        buffers.delta_count[k] = pack_changes(game, params, work, frames_of(buffers, k), changed)
    observe_tables(game, params, work, buffers, k)


@njit
def note_all_changes(game: Game, work: Work, buffers: Buffers, k: int) -> None:
    """Let the log of changes hold all since entry ``k`` was written, whatever it held, for ``observe_step``.

    The cells that changed may be listed in another order.
    """
    forget_changes(work)
    if buffers.boards.shape[1] > 0:
        note_differences(game, work, buffers.boards[k, 0])


@njit
def copy_observation(source: Buffers, destination: Buffers, k: int) -> None:
    """Copy entry ``k`` whole."""
    copy_numbers(source.boards[k], destination.boards[k])
    copy_numbers(source.history[k], destination.history[k])
    copy_numbers(source.delta_index[k], destination.delta_index[k])
    copy_numbers(source.delta_code[k], destination.delta_code[k])
    destination.delta_count[k] = source.delta_count[k]
    copy_numbers(source.players[k], destination.players[k])
    copy_numbers(source.borders[k], destination.borders[k])
    copy_numbers(source.globals[k], destination.globals[k])
    copy_numbers(source.masks[k], destination.masks[k])


@njit
def copy_numbers(source: Any, destination: Any) -> None:
    """Copy an array: assigning one to the other would allocate, in case they overlap."""
    for i in range(source.size):
        put_at(destination, i, at(source, i))


@njit
def observe_tables(game: Game, params: Params, work: Work, buffers: Buffers, k: int) -> None:
    """Write the tables and masks of ``game`` into entry ``k``."""
    observe_globals(game, params, buffers.globals[k])
    observe_borders(game, buffers.borders[k])
    observe_launches(
        game, params, work, buffers.players[k], buffers.borders[k, OF_BORDER.need], buffers.masks[k]
    )
    observe_players(game, params, work, buffers.players[k])


@njit
def observe_teams(game: Game, players: Any, borders: Any) -> None:
    """Write teams and alliances, which stay the same all game long."""
    owners = len(game.team)
    for p in range(1, owners):
        players[p - 1, OF_PLAYER.team] = game.team[p]
        for t in range(1, owners):
            write_border(borders, OF_BORDER.ally, p * owners + t, are_allies_in(game, p, t))


@njit
def observe_globals(game: Game, params: Params, out: Any) -> None:
    """Write the numbers that are the same for all seats; ``out``: float32 (columns,)."""
    now = game.clock[TICK]
    living = 0
    for p in range(np.uint64(1), np.uint64(len(game.alive))):
        living += game.alive[p]
    out[OF_GAME.tick] = now
    out[OF_GAME.ticks_to_interest] = params.interest_every - 1 - now % params.interest_every
    out[OF_GAME.ticks_to_income] = params.income_every - 1 - now % params.income_every
    out[OF_GAME.neutral_share] = game.land[NEUTRAL] / game.clock[NUM_LAND]
    out[OF_GAME.opening] = max(0.0, 1.0 - now / params.early_interest_ticks)
    out[OF_GAME.alive_share] = living / params.num_players


@njit
def observe_borders(game: Game, out: Any) -> None:
    """Write fronts and pools of all pairs that are not as last observed; ``out``: (columns, P+1, P+1)."""
    owners, words = len(game.alive), game.stale.shape[1]
    for p in range(1, owners):
        for word in range(words):
            targets = at(game.stale, p * words + word)
            put_at(game.stale, p * words + word, ZERO)
            if word == words - 1:
                targets &= ~ZERO >> np.uint64(-owners % 64)
            while targets != ZERO:
                pair = p * owners + 64 * word + lowest_bit(targets)
                size, pool = at(game.fronts, pair), at(game.pools, pair)
                write_border(out, OF_BORDER.front, pair, size)
                write_border(out, OF_BORDER.log_front, pair, log2_of(size))
                write_border(out, OF_BORDER.pool, pair, pool)
                write_border(out, OF_BORDER.log_pool, pair, log2_of(pool))
                write_border(out, OF_BORDER.taken, pair, at(game.taken, pair))
                write_border(out, OF_BORDER.need, pair, 0)
                targets &= targets - ONE


@njit
def write_border(out: Any, column: int, pair: int, value: float) -> None:
    """Write a number about the ``pair``-th pair of owners."""
    put_at(out, column * out.shape[1] * out.shape[2] + pair, np.float32(value))


@njit
def observe_launches(game: Game, params: Params, work: Work, players: Any, needs: Any, masks: Any) -> None:
    """Write the need and the legality of a launch against each neighbour.

    ``needs``: float32 (P+1, P+1), zero already where there is no front; ``masks``: uint8 (P, bytes).
    """
    owners, words = len(game.alive), game.bordering.shape[1]
    if has_allies(params):
        list_members(game, work.team_sets)
    for p in range(1, owners):
        if was_dead(game, p, players):
            continue
        troops = game.troops[p]
        largest = largest_need(troops, params)
        carry = ONE  # holding is always legal
        for word in range(words):
            targets, allowed = at(game.bordering, p * words + word), ZERO
            if has_allies(params):
                allowed = gifts_allowed(game, params, work.team_sets, p, word)
                targets &= ~work.team_sets[game.team[p], word]
            while targets != ZERO:
                pair = p * owners + 64 * word + lowest_bit(targets)
                need = need_at_front(at(game.fronts, pair), at(game.pools, pair), params)
                put_at(needs, pair, np.float32(min(LARGEST_NEED, need / max(1, troops))))
                allowed |= targets & (~targets + ONE) if is_affordable(need, largest) else ZERO
                targets &= targets - ONE
            write_bytes(masks[p - 1], BYTES_A_WORD * word, allowed << ONE | carry)
            carry = allowed >> TOP_BIT
        write_bytes(masks[p - 1], BYTES_A_WORD * words, carry)


@njit
def gifts_allowed(game: Game, params: Params, members: Any, p: int, word: int) -> Any:
    """Return a word of the set of allies that ``p`` may give to; ``members``: of teams, ``list_members``."""
    allies, allowed = members[game.team[p], word], ZERO
    while allies != ZERO:
        ally = 64 * word + lowest_bit(allies)
        if ally != p and may_donate(game.troops[p], game.troops[ally], game.land[ally], params):
            allowed |= allies & (~allies + ONE)
        allies &= allies - ONE
    return allowed


@njit
def write_bytes(out: Any, first: int, word: Any) -> None:
    """Write the bytes of ``word``, lowest first, into ``out`` from ``first`` on, as far as there is room."""
    for byte in range(first, min(first + BYTES_A_WORD, len(out))):
        put_at(out, byte, np.uint8(word & LOW_BYTE))
        word >>= np.uint64(8)


@njit
def observe_players(game: Game, params: Params, work: Work, out: Any) -> None:
    """Write one row per seat; ``out``: float32 (P, columns)."""
    total = 0
    for p in range(np.uint64(1), np.uint64(len(game.troops))):
        total += game.troops[p]
    sum_pools(game, work.sums)
    opening = opening_rate(game.clock[TICK], params)
    if has_allies(params):
        sum_teams(game, work.teams)
    for p in range(1, len(game.troops)):
        row = out[p - 1]
        row[OF_PLAYER.illegal] = game.illegal[p]
        if has_allies(params):  # that of a dead player changes until its team is out
            row[OF_PLAYER.rank] = place_now(game, params, work, p)
        if was_dead(game, p, out):
            continue
        land, troops = game.land[p], game.troops[p]
        pools_out, pools_in = work.sums[POOLS_OUT, p], work.sums[POOLS_IN, p]
        row[OF_PLAYER.alive], row[OF_PLAYER.land], row[OF_PLAYER.troops] = game.alive[p], land, troops
        row[OF_PLAYER.log_land], row[OF_PLAYER.log_troops] = log2_of(land), log2_of(troops)
        row[OF_PLAYER.density] = troops / max(1, land)
        row[OF_PLAYER.fill] = troops / max(1, params.soft_cap * land)
        rate = rate_now(game, params, work.interest_rate, opening, p)
        row[OF_PLAYER.interest] = rate * 100 / BASIS_POINTS
        row[OF_PLAYER.land_share] = land / game.clock[NUM_LAND]
        row[OF_PLAYER.troops_share] = troops / max(1, total)
        if not has_allies(params):
            row[OF_PLAYER.rank] = place_now(game, params, work, p)
        row[OF_PLAYER.pools_out], row[OF_PLAYER.pools_in] = pools_out, pools_in
        row[OF_PLAYER.log_pools_out], row[OF_PLAYER.log_pools_in] = log2_of(pools_out), log2_of(pools_in)
        row[OF_PLAYER.peak], row[OF_PLAYER.peak_ratio] = game.peak[p], land / max(1, game.peak[p])
        wait = max(0, game.next_step[p] - game.clock[TICK])
        row[OF_PLAYER.ticks_to_step] = wait if has_pools(game, p) else 0
        row[OF_PLAYER.cadence] = cadence(land, params)


@njit
def place_now(game: Game, params: Params, work: Work, p: int) -> float:
    """Return the place of ``p``, or the one that it would have now; with teams ``sum_teams`` was called."""
    if game.doubled_place[p] != 0:
        return game.doubled_place[p] / 2
    if has_allies(params):
        return rank_of_team_doubled(work.teams, game.team[p]) / 2
    return rank_doubled(game.alive, game.land, game.troops, p) / 2


@njit
def was_dead(game: Game, p: int, players: Any) -> bool:
    """Return whether ``p`` was dead already when ``players`` was last written: nothing can have changed."""
    return (game.alive[p] == 0) & (players[p - 1, OF_PLAYER.alive] == 0)


@njit
def sum_pools(game: Game, sums: Any) -> None:
    """Write the troops of each player in the field, and of others against it: int64 (2, P+1)."""
    for p in range(np.uint64(len(game.troops))):
        sums[POOLS_OUT, p] = sums[POOLS_IN, p] = 0
    for p in range(1, len(game.troops)):
        for word in range(game.active.shape[1]):
            targets = game.active[p, word]
            while targets != ZERO:
                target = 64 * word + lowest_bit(targets)
                sums[POOLS_OUT, p] += game.pools[p, target]
                sums[POOLS_IN, target] += game.pools[p, target]
                targets &= targets - ONE


@njit
def rate_now(game: Game, params: Params, interest_rates: Any, opening: int, p: int) -> int:
    """Return the interest rate of ``p`` in basis points if it were paid now; 0 for eliminated players.

    ``opening``: the rate of the opening. At twice the cap nothing is left of it, or nothing is taken away: no
    more troops need be looked at.
    """
    land, cap = game.land[p], params.soft_cap * game.land[p]
    if game.alive[p] == 0 or land <= 0:
        return 0
    rate = max(rate_for_land(land, game.clock[NUM_LAND], params, interest_rates), opening)
    return rate_over_cap(rate, min(game.troops[p], 2 * cap), cap, params.over_cap_slope)


@njit
def log2_of(amount: int) -> float:
    """Return log2(1 + amount), straight between powers of two: exact arithmetic, the same everywhere."""
    exponent = highest_bit(np.uint64(amount + 1))
    return exponent + ((amount + 1) * POWERS_OF_HALF[exponent] - 1.0)
