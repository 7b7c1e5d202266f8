"""Who comes in above whom: probabilities with counts, from the places of games of many seats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PRIOR = 2.0
"""Games, half of them won, that every pair is taken to have played: what is not known is even."""
Z = 1.959964
"""Of an interval of 95 per cent."""


class PayoffMatrix:
    """For every two players, how often one is placed above the other in the games in which both sit.

    A game counts once for a pair, however many seats the two have in it: as the share of the pairs of their
    seats in which the first is above, equal places a half. With 32 seats a player as good as all others
    wins one game in 32, and is above each of them in one of two.
    """

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._ahead: Floats = np.zeros((0, 0))
        self._met: Floats = np.zeros((0, 0))
        self._games: npt.NDArray[np.int64] = np.zeros((0, 0), np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """All players, in the order of rows and columns."""
        return tuple(self._index)

    def add(self, name: str) -> None:
        """Take up a player, who has met nobody yet; nothing happens if it is there."""
        if name in self._index:
            return
        self._index[name] = len(self._index)
        if len(self._index) > len(self._met):
            more = max(8, len(self._met))
            self._ahead, self._met = np.pad(self._ahead, (0, more)), np.pad(self._met, (0, more))
            self._games = np.pad(self._games, (0, more))

    def remove(self, names: Iterable[str]) -> None:
        """Forget players; KeyError for one who is not there."""
        gone = {self._index[name] for name in names}
        keep = [i for i in range(len(self._index)) if i not in gone]
        known = self.names
        self._index = {known[i]: k for k, i in enumerate(keep)}
        block = np.ix_(keep, keep)
        self._ahead, self._met, self._games = self._ahead[block], self._met[block], self._games[block]

    def record(self, players: Sequence[str], places: Sequence[float], *, fading: Mapping[str, float]) -> None:
        """Count a game.

        Args:
            players: who sat where; new ones are taken up.
            places: of the seats, 1 for the best; NaN for those who were still alive when the game was left:
                they are above all others, and nothing is known between them.
            fading: of players that change, what their earlier games count for after this one, up to 1.

        """
        seats, values = list(dict.fromkeys(players)), np.asarray(places, np.float64)
        if values.shape != (len(players),):
            raise ValueError(f"places has the shape {values.shape}; there are {len(players)} players")
        for name in seats:
            self.add(name)
        share, is_met = _above(np.array([seats.index(name) for name in players]), values, len(seats))
        rows = [self._index[name] for name in seats]
        fade = np.array([fading.get(name, 1.0) for name in seats])
        kept = np.where(is_met, np.minimum(fade[:, None], fade), 1.0)
        block = np.ix_(rows, rows)
        self._ahead[block] = self._ahead[block] * kept + share
        self._met[block] = self._met[block] * kept + is_met
        self._games[block] += is_met

    def probability(self, first: str, others: Sequence[str]) -> Floats:
        """Return (N,), the probabilities that ``first`` is above each other; 0.5 where they never met."""
        i, rows = self._index.get(first), [self._index.get(name) for name in others]
        ahead = np.array([0.0 if i is None or j is None else self._ahead[i, j] for j in rows])
        met = np.array([0.0 if i is None or j is None else self._met[i, j] for j in rows])
        chances: Floats = (ahead + PRIOR / 2) / (met + PRIOR)
        return chances

    def games(self, first: str, others: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return (N,), the games in which ``first`` met each other."""
        i, rows = self._index.get(first), [self._index.get(name) for name in others]
        counts = [0 if i is None or j is None else int(self._games[i, j]) for j in rows]
        return np.array(counts, np.int64)

    def matrix(self, names: Sequence[str] | None = None) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return (N, N) how often i was above j, NaN where they never met, and (N, N) the games that says."""
        rows = [self._index[name] for name in (self.names if names is None else names)]
        block = np.ix_(rows, rows)
        met = self._met[block]
        share = np.divide(self._ahead[block], met, out=np.full(met.shape, np.nan), where=met > 0)
        return share, self._games[block].copy()

    def interval(self, first: str, other: str) -> tuple[float, float]:
        """Return between what the probability lies 95 times of 100 (Wilson); 0 and 1 if they never met."""
        i, j = self._index.get(first), self._index.get(other)
        n = 0.0 if i is None or j is None else float(self._met[i, j])
        if not n:
            return 0.0, 1.0
        share = float(self._ahead[i, j]) / n
        middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
        return middle - half, middle + half

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all of it as arrays, with which :meth:`from_arrays` makes another."""
        n = len(self._index)
        arrays = {"ahead": self._ahead, "met": self._met, "games": self._games}
        return {name: array[:n, :n].copy() for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, names: Sequence[str], arrays: Mapping[str, npt.NDArray[Any]]) -> PayoffMatrix:
        """Return the payoff of ``names`` and ``to_arrays``; ValueError if they do not fit."""
        payoff, shape = cls(), (len(names), len(names))
        for name in ("ahead", "met", "games"):
            if name not in arrays or arrays[name].shape != shape:
                raise ValueError(f"the payoff has no array {name!r} of the shape {shape}")
        payoff._index = {name: i for i, name in enumerate(names)}
        payoff._ahead = np.array(arrays["ahead"], np.float64)
        payoff._met = np.array(arrays["met"], np.float64)
        payoff._games = np.array(arrays["games"], np.int64)
        return payoff


def _above(who: npt.NDArray[np.int64], places: Floats, count: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return (N, N) the share of the pairs of seats of i and j in which i is above, and if there are any."""
    lives = np.isnan(places)
    ranks = np.where(lives, 0.0, places)
    ahead = (ranks[:, None] < ranks) + 0.5 * (ranks[:, None] == ranks)
    known = ~(lives[:, None] & lives)
    belongs = np.eye(count)[who]
    pairs = belongs.T @ known @ belongs
    np.fill_diagonal(pairs, 0)
    won = belongs.T @ (ahead * known) @ belongs
    is_met = pairs > 0
    return np.divide(won, pairs, out=np.zeros_like(won), where=is_met), is_met
