"""Which actions are legal, from the engine's mask bits to one array for the agents of many games."""

from __future__ import annotations

from typing import Any

from territorial._jit import kernel
from territorial.actions import owner_of_target
from territorial.constants import TARGET_NEUTRAL


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
        p, mask = seats[i], out[i]
        legal = bits[games[i], p - 1]
        mask[0] = legal[0] & 1
        for what in range(TARGET_NEUTRAL, num_players + 2):
            bit = owner_of_target(what, p, num_players) + 1
            if (legal[bit >> 3] >> (bit & 7)) & 1:
                start = 1 + copies * (what - TARGET_NEUTRAL)
                for column in range(start, start + copies):
                    mask[column] = 1
        for column in range(end, len(mask)):
            mask[column] = 1
