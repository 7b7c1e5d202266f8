"""``Outcome``: players, places and teams of a game that is over.

A list of teams has the team of every seat, 1..N. An empty one stands for no teams: each seat is a team of
one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from territorial.typing import Floats, Ints

Teams = tuple[int, ...]


class Outcome(NamedTuple):
    """The end of one game, for leagues and payoffs.

    Args:
        players: one text per seat, such as "trainable:main".
        places: one place per seat: 1 is the best, and equal players share the mean of their places. NaN for
            players who were alive when the game was left before its end. They are above all others, and
            nothing is known between them. With teams a place is that of the team, and NaN if the team was
            not out.
        teams: the team of each seat; default (): no teams.

    """

    players: tuple[str, ...]
    places: tuple[float, ...]
    teams: Teams = ()


@dataclass(frozen=True, kw_only=True)
class PlacedGame:
    """A finished game, its players and their places. Lists have an entry a seat, in seat order."""

    game: int
    """Its number."""
    seed: int
    seats: tuple[str, ...]
    """Who played each seat."""
    places: tuple[float, ...]
    """1 is the winner; equals share the mean of their places. With teams those of the teams."""
    teams: Teams = ()
    """The team 1..N of each seat; empty without teams."""


def team_numbers(teams: Sequence[int] | Ints, seats: int) -> Ints:
    """Return (P,) the team of each of so many seats; ValueError for a list of another length."""
    if len(teams) not in (0, seats):
        raise ValueError(f"teams has {len(teams)} entries; there are {seats} seats")
    return np.asarray(teams, np.int64) if len(teams) else np.arange(1, seats + 1)


def team_parts(numbers: Ints) -> Floats:
    """Return (P,) the part of each seat in its team; the parts of a team add up to 1."""
    return 1.0 / np.bincount(numbers)[numbers]
