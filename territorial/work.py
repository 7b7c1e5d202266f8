"""Scratch memory: what the kernels of one thread write to and nobody reads after the call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.board import (
    STRIP_BITS,
    all_blocks,
    num_blocks,
    num_groups,
    num_rows,
    num_strips,
    zeroed_words,
)
from territorial.config import GameConfig, interest_rates
from territorial.reward_parts import kinds_of

CODE_BITS = 8
"""Bits of the largest owner code."""


class Work(NamedTuple):
    """Scratch memory and tables of one thread; nothing in it outlives a call.

    S strips, P seats, K words for a set of owners; see territorial.board for strips, rows, blocks and groups.
    """

    own: npt.NDArray[np.uint64]  # (S, rows) cells of a player of many pools as the turn began, else zero
    front: npt.NDArray[np.uint64]  # (S, rows) the front being taken; zero at all other times
    front_blocks: npt.NDArray[np.uint64]  # (S, groups)
    gained: npt.NDArray[np.uint64]  # (S, rows) cells beside the front that the taker newly touches
    lost: npt.NDArray[np.uint64]  # (S, rows) cells beside the front that the giver touches no more
    zone: npt.NDArray[np.uint64]  # (S, groups) where these two are valid
    others: npt.NDArray[
        np.uint64
    ]  # (S, groups) those of these blocks where third players may touch the front
    all_blocks: npt.NDArray[np.uint64]  # (groups,) all blocks that there are in a strip
    changes: npt.NDArray[np.uint64]  # (8, S, rows) log of the step, empty between calls: territorial.changes
    touched: npt.NDArray[np.uint64]  # (8, S, groups)
    takers: npt.NDArray[np.uint64]  # (S, blocks, K)
    sizes: npt.NDArray[np.int64]  # (P+1,) and his fronts then
    due: npt.NDArray[np.int64]  # (P+1,) players that step in this tick
    keys: npt.NDArray[np.uint64]  # (P+1,) and their place in the order of play
    launches: npt.NDArray[np.int64]  # (P+1, 2) target code (-1 holds) and 1024ths of each seat
    before: npt.NDArray[np.int64]  # (4, P+1) as the environment step began: see territorial.rewards
    reward_kinds: npt.NDArray[
        np.int64
    ]  # (K, 2) parts of rewards: which, and whether it is the zero-sum variant
    reward_weights: npt.NDArray[np.float64]  # (K,)
    reward_parts: npt.NDArray[np.float64]  # (K, P+1)
    longest: npt.NDArray[np.int64]  # (1,) max_ticks
    sums: npt.NDArray[np.int64]  # (2, P+1) pools out and in
    anchors: npt.NDArray[np.int64]  # (P, 3) spawns being placed: row, column, seat
    interest_rate: npt.NDArray[np.int64]  # (levels+1,) basis points by share of land


def make_work(config: GameConfig, *, logs_changes: bool) -> Work:
    """Return scratch memory for games of ``config``; every thread needs its own.

    Only where boards are observed is it worth while to log changes.
    """
    owners = config.num_players + 1
    strips, rows = num_strips(config.width), num_rows(config.height)
    words, sets = (strips, rows), (strips, num_groups(config.height))
    logged = (rows, num_groups(config.height), num_blocks(config.height)) if logs_changes else (0, 0, 0)
    return Work(
        own=zeroed_words(words),
        front=zeroed_words(words),
        front_blocks=np.zeros(sets, np.uint64),
        gained=zeroed_words(words),
        lost=zeroed_words(words),
        zone=np.zeros(sets, np.uint64),
        others=np.zeros(sets, np.uint64),
        all_blocks=all_blocks(config.height),
        changes=zeroed_words((CODE_BITS, strips, logged[0])),
        touched=np.zeros((CODE_BITS, strips, logged[1]), np.uint64),
        takers=np.zeros((strips, logged[2], -(-owners // STRIP_BITS)), np.uint64),
        sizes=np.zeros(owners, np.int64),
        due=np.zeros(owners, np.int64),
        keys=np.zeros(owners, np.uint64),
        launches=np.zeros((owners, 2), np.int64),
        before=np.zeros((4, owners), np.int64),
        reward_kinds=np.array(kinds_of(config.rewards), np.int64).reshape(-1, 2),
        reward_weights=np.array([weight for _, weight in config.rewards], np.float64),
        reward_parts=np.zeros((len(config.rewards), owners)),
        longest=np.array([config.max_ticks], np.int64),
        sums=np.zeros((2, owners), np.int64),
        anchors=np.zeros((config.num_players, 3), np.int64),
        interest_rate=interest_rates(config),
    )
