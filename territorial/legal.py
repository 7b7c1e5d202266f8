"""Which actions are legal, from the engine's mask bits to one array for the agents of many games."""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial._jit import ONE, ZERO, kernel, lowest_bit, njit
from territorial.constants import NEUTRAL, TARGET_NEUTRAL, TARGET_SELF

BYTES_A_WORD = 8


@kernel
def write_masks(bits: Any, games: Any, seats: Any, copies: int, out: Any) -> None:
    """Write what each of ``seats`` may do to ``out``, int8 (N, width): 1 where it is legal.

    ``bits``: uint8 (E, P, ceil((P+2)/8)), the engine's mask bits. ``games`` and ``seats`` (1..P): int64 (N,).
    Column 0 holds; then every other target in ego order has ``copies`` columns, one for each fraction where
    an action is one number. Columns beyond the targets are all legal.
    """
    num_players = bits.shape[1]
    end = 1 + copies * (num_players + 1)
    for i in range(len(seats)):
        mask, legal = out[i], bits[games[i], seats[i] - 1]
        for column in range(len(mask)):
            mask[column] = column >= end
        mask[0] = legal[0] & 1
        for first in range(0, len(legal), BYTES_A_WORD):
            # From one to the next: a test of every bit would be guessed wrong at each that is set.
            word = word_at(legal, first)
            word &= ~ONE if first == 0 else ~ZERO
            while word != ZERO:
                allow(mask, 8 * first + lowest_bit(word) - 1, seats[i], num_players, copies)
                word &= word - ONE


@njit
def word_at(legal: Any, first: int) -> Any:
    """Return the bytes from ``first`` on, at most eight, as one word, the first byte lowest."""
    word = ZERO
    for byte in range(first, min(len(legal), first + BYTES_A_WORD)):
        word |= np.uint64(legal[byte]) << np.uint64(8 * (byte - first))
    return word


@njit
def allow(mask: Any, owner: int, p: int, num_players: int, copies: int) -> None:
    """Set the columns of player ``p``'s launches against ``owner``."""
    ego = owner - p + (num_players if owner < p else 0)
    start = 1 + copies * (0 if owner == NEUTRAL else TARGET_SELF + ego - TARGET_NEUTRAL)
    for column in range(start, start + copies):
        mask[column] = 1
