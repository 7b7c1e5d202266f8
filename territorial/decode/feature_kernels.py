"""Features on the processor: rows of numbers looked up, without an index for each of them."""

from __future__ import annotations

from typing import Any

from territorial._jit import kernel


@kernel
def write_features(state: Any, index: Any, seats: Any, games: Any, out: Any) -> None:
    """Write the feature vector of every entry.

    Args:
        state: float32 (E, S), the tables of the games end to end, scaled.
        index: int32 (P, N), where in them the features of each seat lie.
        seats: int64 (n,), 1..P.
        games: int64 (n,), 0..E-1.
        out: float32 (n, N), written.

    """
    for n in range(len(seats)):
        row, order, to = state[games[n]], index[seats[n] - 1], out[n]
        for i in range(len(order)):
            to[i] = row[order[i]]
