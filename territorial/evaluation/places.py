"""Places and teams of the seats of a game, read from its state."""

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.batch_arrays import GameArrays
from territorial.evaluation.outcome import Teams


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


def teams_by_seat(config: GameConfig, seed: int) -> Teams:
    """Return the team of every seat in the game of ``seed``; empty where no seat has an ally."""
    return config.team_of(seed) if config.has_allies else ()
