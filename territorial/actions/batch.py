"""What agents do, from one array of their own format to the engine's pairs for all seats, in one pass."""

from typing import Any

from territorial.actions.encoding import HOW_MUCH, WHAT, how_much_of, what_of
from territorial.constants import HOLD, NUM_FRACTIONS
from territorial.game.state import PLAYERS
from territorial.jit.decorators import kernel

_ALIVE = PLAYERS["alive"]

ALL_GOOD = -1
"""What ``write_choices`` returns where there is nothing to complain of."""


@kernel
def write_choices(actions: Any, players: Any, seats: Any, out: Any) -> int:
    """Write what the living agents do to ``out``, int64 (E, P, 2), and that all other seats hold.

    ``actions``: int64 (E, A, 1), one number each, or (E, A, 2), what and how much. ``players``: the block of
    the state, int64 (E, K, P+1). ``seats``: int64 (E, A), 1..P. Returns ALL_GOOD, or k * A + i of the first
    action out of range.
    """
    num_games, num_agents, num_parts = actions.shape
    for k in range(num_games):
        for p in range(out.shape[1]):
            out[k, p, WHAT] = HOLD
            out[k, p, HOW_MUCH] = 0
        for i in range(num_agents):
            first = actions[k, i, WHAT]
            what, how = first, actions[k, i, num_parts - 1]
            if num_parts == 1:
                what, how = what_of(first), how_much_of(first)
            if not (first >= 0 and 0 <= what < out.shape[1] + 2 and 0 <= how < NUM_FRACTIONS):
                bad: int = k * num_agents + i
                return bad
            if players[k, _ALIVE, seats[k, i]] != 0:
                out[k, seats[k, i] - 1, WHAT] = what
                out[k, seats[k, i] - 1, HOW_MUCH] = how
    return ALL_GOOD


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
