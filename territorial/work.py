"""Scratch memory: what the kernels of one thread write to and nobody reads after the call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig, interest_rates
from territorial.reward_parts import kinds_of
from territorial.state import num_strips

CODE_BITS = 8
"""Bits of the largest owner code, and words of a cache line."""


class Work(NamedTuple):
    """Scratch memory and tables of one thread; nothing in it outlives a call.

    S strips, H rows, P seats; see territorial.board for strips and spans.
    """

    reach: npt.NDArray[np.uint64]  # (S, H+2) cells next to the player whose turn it is
    reach_spans: npt.NDArray[np.int64]  # (S, 3)
    front: npt.NDArray[np.uint64]  # (S, H+2) the front being taken; zero at all other times
    front_spans: npt.NDArray[np.int64]  # (S, 3)
    gained: npt.NDArray[np.uint64]  # (S, H+2) cells that the taker newly touches, see territorial.fronts
    near_front: npt.NDArray[np.uint64]  # (S, H+2) cells beside the front, see territorial.fronts
    near_giver: npt.NDArray[np.uint64]  # (S, H+2) cells beside what is left to the giver
    zone: npt.NDArray[np.int64]  # (S, 3) the rows and columns of near_front
    changes: npt.NDArray[np.uint64]  # (S, H, 8) log of the step, empty between calls: territorial.changes
    touched: npt.NDArray[np.uint64]  # (S, ceil(H/64))
    takers: npt.NDArray[np.int64]  # (S, H) where touched
    listed: npt.NDArray[np.int64]  # (H,) rows of one strip that are being brought up to date
    sizes: npt.NDArray[np.int64]  # (P+1,) fronts of the player whose turn it is, as the turn began
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
    strips = num_strips(config.width)
    logged = config.height if logs_changes else 0
    words, spans = (strips, config.height + 2), (strips, 3)
    return Work(
        reach=np.zeros(words, np.uint64),
        reach_spans=np.zeros(spans, np.int64),
        front=np.zeros(words, np.uint64),
        front_spans=np.zeros(spans, np.int64),
        gained=np.zeros(words, np.uint64),
        near_front=np.zeros(words, np.uint64),
        near_giver=np.zeros(words, np.uint64),
        zone=np.zeros(spans, np.int64),
        changes=np.zeros((strips, logged, CODE_BITS), np.uint64),
        touched=np.zeros((strips, -(-logged // 64)), np.uint64),
        takers=np.zeros((strips, logged), np.int64),
        listed=np.zeros(logged, np.int64),
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
