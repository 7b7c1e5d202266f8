"""How a game ended: who sat where, and who came in at which place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.engine.game_arrays import GameArrays


class Outcome(NamedTuple):
    """How one game ended: what leagues and payoffs record.

    Args:
        players: one text per seat, such as "trainable:main".
        places: one place per seat: 1 is the best, and equal players share the mean of their places. NaN for
            players who were alive when the game was left before its end. They are above all others, and
            nothing is known between them.

    """

    players: tuple[str, ...]
    places: tuple[float, ...]


def known_places(state: GameArrays, k: int) -> npt.NDArray[np.float64]:
    """Return (P,), the places of the seats of game ``k`` as far as they are known; NaN for who lives on."""
    places = state.place2[k, 1:] / 2
    return np.where(places > 0, places, np.nan)


def places_now(state: GameArrays, k: int) -> npt.NDArray[np.float64]:
    """Return (P,), the places that the seats of game ``k`` have if it ends as it stands.

    As at the end of a game living players are placed by land, then by troops; equals share the mean of
    theirs.
    """
    places = known_places(state, k)
    lives = np.isnan(places)
    land, troops = state.land[k, 1:][lives], state.troops[k, 1:][lives]
    is_same = (land[:, None] == land) & (troops[:, None] == troops)
    is_behind = (land[:, None] < land) | ((land[:, None] == land) & (troops[:, None] < troops))
    places[lives] = is_behind.sum(1) + (is_same.sum(1) + 1) / 2
    return places
