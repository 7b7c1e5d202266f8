"""``Outcome``: players, places and teams of a game that is over.

A list of teams has the team of every seat, 1..N. An empty one stands for no teams: each seat is a team of
one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.batch_arrays import GameArrays
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


def known_places(state: GameArrays, k: int) -> npt.NDArray[np.float64]:
    """Return (P,), the known places of the seats of game ``k``; NaN for living players.

    With teams NaN is of all seats whose team has a living member.
    """
    places = state.doubled_place[k, 1:] / 2
    return np.where(places > 0, places, np.nan)


def places_now(state: GameArrays, k: int) -> npt.NDArray[np.float64]:
    """Return (P,), the places that the seats of game ``k`` have if it ends as it stands.

    As at the end of a game living players are placed by land, then by troops; equals share the mean of
    theirs. With teams it is the teams with a living member, by the sums over their members.
    """
    places, teams = known_places(state, k), state.team[k, 1:]
    lives = np.isnan(places)
    left, which = np.unique(teams[lives], return_inverse=True)
    land, troops = (np.bincount(teams, of[k, 1:])[left] for of in (state.land, state.troops))
    is_same = (land[:, None] == land) & (troops[:, None] == troops)
    is_behind = (land[:, None] < land) | ((land[:, None] == land) & (troops[:, None] < troops))
    places[lives] = (is_behind.sum(1) + (is_same.sum(1) + 1) / 2)[which]
    return places


# ---- teams ----------------------------------------------------------------------------------------


def teams_by_seat(config: GameConfig, seed: int) -> Teams:
    """Return the team of every seat in the game of ``seed``; empty where no seat has an ally."""
    return config.team_of(seed) if config.has_allies else ()


def team_numbers(teams: Sequence[int] | Ints, seats: int) -> Ints:
    """Return (P,) the team of each of so many seats; ValueError for a list of another length."""
    if len(teams) not in (0, seats):
        raise ValueError(f"teams has {len(teams)} entries; there are {seats} seats")
    return np.asarray(teams, np.int64) if len(teams) else np.arange(1, seats + 1)


def team_parts(numbers: Ints) -> Floats:
    """Return (P,) the part of each seat in its team; the parts of a team add up to 1."""
    return 1.0 / np.bincount(numbers)[numbers]
