"""Teams in what is compared: which seats share a place, and which part of its team a seat is.

A list of teams has the team of every seat, 1..N. An empty one stands for no teams: each seat is a team of
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.typing import Floats, Ints

Teams = tuple[int, ...]


def teams_by_seat(config: GameConfig, seed: int) -> Teams:
    """Return the team of every seat in the game of ``seed``; empty where no seat has an ally."""
    return config.team_of(seed) if config.has_allies else ()


def team_numbers(teams: Sequence[int] | Ints, seats: int) -> Ints:
    """Return (P,) the team of each of so many seats; ValueError for a list of another length."""
    if len(teams) not in (0, seats):
        raise ValueError(f"teams has {len(teams)} entries; there are {seats} seats")
    return np.asarray(teams, np.int64) if len(teams) else np.arange(1, seats + 1)


def team_sizes(numbers: npt.NDArray[np.int64]) -> Ints:
    """Return (P,) how many seats the team of each seat has."""
    sizes: Ints = np.bincount(numbers)[numbers]
    return sizes


def team_parts(numbers: npt.NDArray[np.int64]) -> Floats:
    """Return (P,) which part of its team each seat is: those of a team add up to 1."""
    parts: Floats = 1.0 / team_sizes(numbers)
    return parts
