"""``Work``: scratch memory of the kernels of one thread.

In it are tables of launches, which go from deciding to the rules, and to the log of a recorded game. It also
has a log of the cells that change hands during a step, from which the packed board is brought up to date. A
step is played and observed within one call, so this log is empty between calls. There is an *entry* for every
block in which something was noted, in the order in which they came up, so that a step of any board writes to
the same few lines of the cache. Without boards to observe there is no room.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig, interest_rates, team_table
from territorial.config.rewards import kinds_of
from territorial.game.board import (
    STRIP_BITS,
    BlockList,
    CellSet,
    all_blocks,
    num_blocks,
    num_groups,
    num_rows,
    num_strips,
    zeroed_words,
)
from territorial.jit.decorators import ONE, ZERO, lowest_bit, njit
from territorial.jit.simd import EIGHT, aligned_zeros, at, eight, no_cells, put, put_at

CODE_BITS = 8
"""Bits of the largest owner code."""
LOG_NUMBER, LOG_STRIP, LOG_BLOCK = range(3)
"""Columns of ``Work.log_blocks``."""
POOLS_OUT, POOLS_IN = range(2)
"""Rows of ``Work.sums``: the troops that a player has in the field, and those of others against it."""
LIVING, LAND_OF_TEAM, TROOPS_OF_TEAM, OUT = range(4)
"""Rows of ``Work.teams``: living members, land and troops of all; 1 if it is out from this tick on."""
MEMBERS, PART_END = range(2)
"""Its rows while spawns are shared out: seats of a team, and where a part of the list of teams ends."""
SHOWN, GIVEN = range(2)
"""Rows of ``Work.gifts``: the troops before all launches of a tick, and what allies have given in it."""
ANCHOR_ROW, ANCHOR_COLUMN, ANCHOR_SEAT = range(3)
"""Columns of ``Work.anchors``: the upper left corner of a spawn, and whose it is."""
LAUNCH_TICK, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_FRACTION = range(4)
"""The columns: the tick, the seat 1..P, the owner code of the target 0..P, and 1024ths of the balance."""
NUM_LAUNCH_COLUMNS = 4


class Work(NamedTuple):
    """Scratch memory and tables of one thread; nothing in it outlives a call.

    S strips, P seats, R blocks of the map, K words for a set of owners. See territorial.game.board for
    strips, rows, blocks and groups.
    """

    own: npt.NDArray[np.uint64]  # (S, rows) cells of a player of many pools as the turn began, else zero
    front: CellSet  # the front being taken; its words are zero at all other times
    zone: npt.NDArray[np.uint64]  # (S, groups) blocks with cells beside the front; empty at other times
    listed: BlockList  # room for a list: of the blocks of the front, then the others of its zone
    others: npt.NDArray[np.int64]  # (R,) places of the blocks with cells of third players beside the front
    with_others: npt.NDArray[np.uint64]  # (S, groups) the same blocks as a set
    near: npt.NDArray[np.uint64]  # (R, 8) these cells of third players
    all_blocks: npt.NDArray[np.uint64]  # (groups,) all blocks that there are in a strip
    log_entries: npt.NDArray[np.int64]  # (S, groups, 64) 1 + the entry of a block in the log of a step, or 0
    log_length: npt.NDArray[np.int64]  # (1,) the number of entries in the log
    log_blocks: npt.NDArray[np.int64]  # (R, 3) LOG_NUMBER ... of each
    log_bits: npt.NDArray[np.uint64]  # (R,) the bits of codes that changed there
    log_takers: npt.NDArray[np.uint64]  # (R, K) owners that took cells there
    log_changes: npt.NDArray[np.uint64]  # (R, 8, 8) XOR of old and new codes: bit of the code, row
    log_planes: npt.NDArray[
        np.int64
    ]  # (8, R + 1) for each bit of the code the entries that have changes in it
    log_counts: npt.NDArray[np.int64]  # (8,) the number of these entries
    rows: npt.NDArray[np.uint64]  # (8,) rows of a block whose cells are being listed
    sizes: npt.NDArray[np.int64]  # (P+1,) fronts of the player whose turn it is
    due: npt.NDArray[np.int64]  # (P+1,) players that step in this tick
    keys: npt.NDArray[np.uint64]  # (P+1,) the place of each due player in the order of play
    launches: npt.NDArray[np.int64]  # (P, 4) those decided on: LAUNCH_TICK ...
    before: npt.NDArray[np.int64]  # (5, P+1) as the environment step began: see territorial.game.rewards
    reward_kinds: npt.NDArray[
        np.int64
    ]  # (K, 2) parts of rewards: which, and whether it is the zero-sum variant
    reward_weights: npt.NDArray[np.float64]  # (K,)
    reward_parts: npt.NDArray[np.float64]  # (K, P+1)
    reward_totals: npt.NDArray[np.float64]  # (P+1,) their sums, each times its weight
    longest: npt.NDArray[np.int64]  # (1,) max_ticks
    sums: npt.NDArray[np.int64]  # (2, P+1) POOLS_OUT, POOLS_IN
    anchors: npt.NDArray[np.int64]  # (P, 3) spawns being placed: ANCHOR_ROW ...
    dealt_teams: npt.NDArray[np.int64]  # (P+1,) the team of each seat: see territorial.game.teams.deal_teams
    teams: npt.NDArray[np.int64]  # (4, P+1) by team: LIVING ...
    members: npt.NDArray[np.int64]  # (P+1,) those of one team, or places that are being sorted
    team_sets: npt.NDArray[np.uint64]  # (P+1, K) by team: its members as a set of owners
    gifts: npt.NDArray[np.int64]  # (2, P+1) SHOWN, GIVEN
    interest_rate: npt.NDArray[np.int64]  # (levels+1,) basis points by share of land


def named_arrays(arguments: Any, path: str = "") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the arrays of a named tuple, and of named tuples in it, with their names: ``front.words``."""
    for name, value in arguments._asdict().items():
        if isinstance(value, tuple):
            yield from named_arrays(value, f"{path}{name}.")
        elif isinstance(value, np.ndarray):
            yield path + name, value


def make_work(config: GameConfig, *, logs_changes: bool) -> Work:
    """Return scratch memory for games of ``config``; every thread needs its own.

    Only where boards are observed is it worth while to log changes.
    """
    owners = config.num_players + 1
    strips, rows = num_strips(config.width), num_rows(config.height)
    words, sets = (strips, rows), (strips, num_groups(config.height))
    room = strips * num_blocks(config.height) + 1  # one entry is written beyond the last
    logged = strips * num_blocks(config.height) if logs_changes else 0
    return Work(
        own=zeroed_words(words),
        front=CellSet(zeroed_words(words), np.zeros(sets, np.uint64)),
        zone=np.zeros(sets, np.uint64),
        listed=BlockList(np.zeros(room, np.int64), np.zeros(room, np.int64), 0),
        others=np.zeros(room, np.int64),
        with_others=np.zeros(sets, np.uint64),
        near=aligned_zeros((room, EIGHT), np.uint64),
        all_blocks=all_blocks(config.height).copy(),
        log_entries=np.zeros((strips, logged and num_groups(config.height), STRIP_BITS), np.int64),
        log_length=np.zeros(1, np.int64),
        log_blocks=np.zeros((logged, 3), np.int64),
        log_bits=np.zeros(logged, np.uint64),
        log_takers=np.zeros((logged, -(-owners // STRIP_BITS)), np.uint64),
        log_changes=aligned_zeros((logged, CODE_BITS, EIGHT), np.uint64),
        log_planes=np.zeros((CODE_BITS, logged + 1), np.int64),
        log_counts=np.zeros(CODE_BITS, np.int64),
        rows=aligned_zeros((EIGHT,), np.uint64),
        sizes=np.zeros(owners, np.int64),
        due=np.zeros(owners, np.int64),
        keys=np.zeros(owners, np.uint64),
        launches=np.zeros((config.num_players, NUM_LAUNCH_COLUMNS), np.int64),
        before=np.zeros((5, owners), np.int64),
        reward_kinds=np.array(kinds_of(config.rewards), np.int64).reshape(-1, 2),
        reward_weights=np.array([weight for _, weight in config.rewards], np.float64),
        reward_parts=np.zeros((len(config.rewards), owners)),
        reward_totals=np.zeros(owners),
        longest=np.array([config.max_ticks], np.int64),
        sums=np.zeros((2, owners), np.int64),
        anchors=np.zeros((config.num_players, 3), np.int64),
        dealt_teams=team_table(config),
        teams=np.zeros((4, owners), np.int64),
        members=np.zeros(owners, np.int64),
        team_sets=np.zeros((owners, -(-owners // STRIP_BITS)), np.uint64),
        gifts=np.zeros((2, owners), np.int64),
        interest_rate=interest_rates(config),
    )


# ---- launches --------------------------------------------------------------------------------------


class LaunchList(NamedTuple):
    """The launches of one tick of a game: the rows [first, end) of a table, made in this order."""

    rows: npt.NDArray[np.int64]  # (N, 4)
    first: int
    end: int


@njit
def write_launch(rows: Any, i: int, now: int, p: int, target: int, fraction: int) -> None:
    """Write row ``i`` of a table of launches, (N, 4)."""
    rows[i, LAUNCH_TICK] = now
    rows[i, LAUNCH_SEAT] = p
    rows[i, LAUNCH_TARGET] = target
    rows[i, LAUNCH_FRACTION] = fraction


# ---- the log of changes ----------------------------------------------------------------------------


@njit
def note_changes(work: Work, cells: CellSet, blocks: BlockList, old: int, new: int) -> None:
    """Note that ``cells``, which lie in ``blocks``, go from owner ``old`` to ``new``."""
    if work.log_entries.size == 0:
        return
    for i in range(blocks.length):
        entry = entry_of_block(work, blocks.numbers[i])
        note_block(work, entry, eight(cells.words, blocks.places[i]), old, new)


@njit
def entry_of_block(work: Work, number: int) -> int:
    """Return which entry of the log is that of a block; it gets one if it has none yet."""
    entry = at(work.log_entries, number)
    if entry == 0:
        entry = work.log_length[0] + 1
        work.log_length[0] = entry
        put_at(work.log_entries, number, entry)
        groups, word = work.zone.shape[1], number >> 6
        s = word // groups if groups > 1 else word
        work.log_blocks[entry - 1, LOG_NUMBER], work.log_blocks[entry - 1, LOG_STRIP] = number, s
        work.log_blocks[entry - 1, LOG_BLOCK] = STRIP_BITS * (word - s * groups) + (number & 63)
    return entry - 1


@njit
def note_block(work: Work, entry: int, cells: Any, old: int, new: int) -> None:
    """Flip the changed code bits of ``cells``, eight rows, and note the takers."""
    difference, bits = np.uint64(old ^ new), at(work.log_bits, entry)
    put_at(work.log_bits, entry, bits | difference)
    takers = entry * work.log_takers.shape[1] + (new >> 6)
    put_at(work.log_takers, takers, at(work.log_takers, takers) | ONE << np.uint64(new & 63))
    while difference != ZERO:
        b = lowest_bit(difference)
        place = place_in_log(entry, b)
        put(work.log_changes, place, eight(work.log_changes, place) ^ cells)
        count = work.log_counts[b]
        put_at(work.log_planes, b * work.log_planes.shape[1] + count, entry)
        work.log_counts[b] = count + ((bits >> np.uint64(b)) & ONE == ZERO)
        difference &= difference - ONE


@njit
def note_plane(work: Work, entry: int, b: int, cells: Any) -> None:
    """Flip bit ``b`` of ``cells``, eight rows, without noting the takers."""
    bit = ONE << np.uint64(b)
    if work.log_bits[entry] & bit == ZERO:
        work.log_bits[entry] |= bit
        work.log_planes[b, work.log_counts[b]] = entry
        work.log_counts[b] += 1
    place = place_in_log(entry, b)
    put(work.log_changes, place, eight(work.log_changes, place) ^ cells)


@njit
def place_in_log(entry: int, b: int) -> int:
    """Return where in ``log_changes`` the eight rows of an entry are for bit ``b``."""
    return (CODE_BITS * entry + b) * EIGHT


@njit
def forget_entries(work: Work) -> None:
    """Empty the log except the changes, which go plane by plane."""
    for entry in range(work.log_length[0]):
        put_at(work.log_entries, work.log_blocks[entry, LOG_NUMBER], 0)
        work.log_bits[entry] = ZERO
        for word in range(work.log_takers.shape[1]):
            work.log_takers[entry, word] = ZERO
    work.log_length[0] = 0


@njit
def forget_plane(work: Work, b: int) -> None:
    """Empty the log of the changes in plane ``b``."""
    for i in range(work.log_counts[b]):
        put(work.log_changes, place_in_log(work.log_planes[b, i], b), no_cells())
    work.log_counts[b] = 0


@njit
def forget_changes(work: Work) -> None:
    """Empty the log."""
    forget_entries(work)
    for b in range(CODE_BITS):
        forget_plane(work, b)
