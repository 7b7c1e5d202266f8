"""Actions that name a candidate as actions that name a target."""

from __future__ import annotations

from typing import Any

from territorial.actions.encoding import HOW_MUCH, WHAT, how_much_of, what_of
from territorial.constants import HOLD
from territorial.jit.decorators import kernel


@kernel
def write_aimed(numbers: Any, targets: Any, out: Any) -> None:
    """Write actions as the engine's pairs; one against a candidate that is not there holds.

    Args:
        numbers: int64 (N, 1), actions of one number, or (N, 2), of two parts; in range.
        targets: int32 (N, C), the engine's first part for each candidate, HOLD where there is none.
        out: int64 (N, 2), written.

    """
    is_flat = numbers.shape[1] == 1
    for i in range(len(numbers)):
        first = numbers[i, WHAT]
        candidate = what_of(first) if is_flat else first
        how_much = how_much_of(first) if is_flat else numbers[i, HOW_MUCH]
        target = targets[i, candidate - 1] if candidate != HOLD else HOLD
        out[i, WHAT], out[i, HOW_MUCH] = target, how_much if target != HOLD else 0
