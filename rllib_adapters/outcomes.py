"""How games ended: who sat where and came in at which place, kept by an environment until somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from territorial.engine import GameArrays
from territorial.league import Player
from territorial.league.trials import placed

MOST = 10_000
"""Outcomes that are kept; older ones are dropped, where nobody asks."""


class Outcome(NamedTuple):
    """How one game ended."""

    players: tuple[str, ...]
    """By seat, such as "trainable:main"."""
    places: tuple[float, ...]
    """By seat, 1 for the best; NaN for those who were alive when nobody learned from the game any more."""


class Outcomes:
    """The games of an environment that are over and have not been taken."""

    def __init__(self) -> None:
        self._games: list[Outcome] = []

    def add(self, players: Sequence[Player], state: GameArrays, k: int, *, is_cut: bool) -> None:
        """Keep how game ``k`` stands, which is over for its environment.

        Those who live are placed by land if it was cut, since that is what it came to; if it was left because
        nobody learns from it any more, how they will come in is not known.
        """
        places = state.place2[k, 1:] / 2
        places = placed(places, state.land[k, 1:]) if is_cut else np.where(places > 0, places, np.nan)
        self._games.append(Outcome(tuple(map(str, players)), tuple(places.tolist())))
        del self._games[:-MOST]

    def take(self) -> list[Outcome]:
        """Return all that are kept, in the order in which they ended, and forget them."""
        games, self._games = self._games, []
        return games
