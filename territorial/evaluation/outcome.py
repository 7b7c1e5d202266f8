"""How a game ended: who sat where, and who came in at which place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.engine.batch_arrays import GameArrays
from territorial.evaluation.teams import Teams


class Outcome(NamedTuple):
    """How one game ended: what leagues and payoffs record.

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
    """Return (P,), the places of the seats of game ``k`` as far as they are known; NaN for who lives on.

    With teams NaN is of all seats whose team has a living member.
    """
    places = state.place2[k, 1:] / 2
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
