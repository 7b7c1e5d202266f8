"""Which actions are legal, from the engine's mask bits to one array for the agents of many games."""

from __future__ import annotations

from typing import Any

from territorial._jit import int64, kernel, njit
from territorial.constants import NEUTRAL, TARGET_NEUTRAL, TARGET_SELF


@kernel
def write_masks(bits: Any, games: Any, seats: Any, copies: int, out: Any) -> None:
    """Set what each of ``seats`` may do in ``out``, int8 (N, width) of zeros; most is not legal.

    ``bits``: uint8 (E, P, ceil((P+2)/8)), the engine's mask bits. ``games`` and ``seats`` (1..P): int64 (N,).
    Column 0 holds; then every other target in ego order has ``copies`` columns, one for each fraction where
    an action is one number. Columns beyond the targets are all legal.
    """
    num_players = bits.shape[1]
    end = 1 + copies * (num_players + 1)
    for i in range(len(seats)):
        mask, legal = out[i], bits[games[i], seats[i] - 1]
        for byte in range(len(legal)):
            word = int64(legal[byte])
            for bit in range(8 * byte, 8 * byte + 8 if word != 0 else 0):
                if (word >> (bit & 7)) & 1:
                    allow(mask, bit, seats[i], num_players, copies)
        for column in range(end, len(mask)):
            mask[column] = 1


@njit
def allow(mask: Any, bit: int, p: int, num_players: int, copies: int) -> None:
    """Set the columns of one action of player ``p``: bit 0 holds, bit t + 1 is a launch against owner t."""
    if bit == 0:
        mask[0] = 1
        return
    owner = bit - 1
    what = TARGET_NEUTRAL if owner == NEUTRAL else TARGET_SELF + (owner - p) % num_players
    start = 1 + copies * (what - TARGET_NEUTRAL)
    for column in range(start, start + copies):
        mask[column] = 1
