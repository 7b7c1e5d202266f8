"""Who plays a seat: an agent of the environment, the caller, or a bot; and line-ups that have a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.constants import AGENT_CODE

AGENT = "agent"
"""A seat driven by actions and reported as an agent of the environment."""
EXTERNAL = "external"
"""A seat driven by actions but not reported as an agent."""

SEAT_NAMES: tuple[str, ...] = (AGENT, EXTERNAL, *bots.NAMES)
"""All names of seats; the position of a name is its code in the state (see constants)."""


class LineUp(NamedTuple):
    """A fixed field of players, so that figures taken with it can be compared."""

    seats: tuple[str, ...]
    """One name per seat."""
    seeds: tuple[int, ...]
    """Seeds of the games that figures are taken over."""


LINEUPS: dict[str, LineUp] = {
    "mixed-1": LineUp(
        seats=("metronome",) * 10 + ("banker",) * 6 + ("turtle",) * 2 + ("novice",) * 10 + ("random",) * 4,
        seeds=tuple(range(64)),
    ),
}
"""Named line-ups; what a name means never changes."""


def seat_codes(seats: Sequence[str] | None, num_players: int) -> npt.NDArray[np.int64]:
    """Return the codes of ``seats`` as int64 (P,); None means that every seat is an agent."""
    if seats is None:
        return np.full(num_players, AGENT_CODE, np.int64)
    if isinstance(seats, str):
        raise TypeError(f"seats is the string {seats!r}; it must be a sequence of one name per seat")
    if len(seats) != num_players:
        raise ValueError(f"seats has {len(seats)} entries; this game has num_players = {num_players}")
    for seat, name in enumerate(seats, start=1):
        if name not in SEAT_NAMES:
            raise ValueError(f"seats[{seat - 1}] is {name!r}; it must be one of {', '.join(SEAT_NAMES)}")
    return np.array([SEAT_NAMES.index(name) for name in seats], np.int64)
