"""What the games of a generation say: how the styles were placed, and which bots they were placed above."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from territorial.evaluation.record import GameRecord


class Standings:
    """Places of styles and bots, added up game by game.

    Args:
        styles: names of the population.
        opponents: names of the bots.

    """

    def __init__(self, styles: Iterable[str], opponents: Sequence[str]) -> None:
        self._styles = {name: i for i, name in enumerate(styles)}
        self._opponents = {name: i for i, name in enumerate(opponents)}
        self._seats, self._scores, self._places = np.zeros((3, len(self._styles)))
        self._above, self._met = np.zeros((2, len(self._styles), len(self._opponents)))

    def add(self, record: GameRecord) -> None:
        """Add a game."""
        places = np.array(record.places)
        own = [seat for seat, name in enumerate(record.seats) if name in self._styles]
        others = [seat for seat, name in enumerate(record.seats) if name in self._opponents]
        bots = [self._opponents[record.seats[seat]] for seat in others]
        for seat in own:
            style = self._styles[record.seats[seat]]
            self._seats[style] += 1
            self._places[style] += places[seat]
            self._scores[style] += 1 - 2 * math.log(places[seat]) / math.log(len(places))
            np.add.at(self._met[style], bots, 1)
            np.add.at(self._above[style], bots, _above(places[seat], places[others]))

    def score_of(self, style: str) -> tuple[int, float]:
        """Return the seats of a style, and the sum of what they scored: 1 for a first place to -1."""
        i = self._styles[style]
        return int(self._seats[i]), float(self._scores[i])

    def mean_place(self, styles: Sequence[str]) -> float:
        """Return the mean place of all seats of some styles."""
        chosen = [self._styles[name] for name in styles]
        return float(self._places[chosen].sum() / self._seats[chosen].sum())

    def beaten_by(self, styles: Sequence[str]) -> dict[str, float]:
        """Return, by bot that any of ``styles`` met, the share of its seats that these were placed above."""
        chosen = [self._styles[name] for name in styles]
        met, above = self._met[chosen].sum(axis=0), self._above[chosen].sum(axis=0)
        return {name: float(above[i] / met[i]) for name, i in self._opponents.items() if met[i]}


def _above(place: float, others: np.ndarray) -> np.ndarray:
    """Return 1 for each place that is worse than ``place``, a half for an equal one."""
    result: np.ndarray = (others > place) + 0.5 * (others == place)
    return result
