"""Statistics of games: places and wins with intervals, payoffs, ratings."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.evaluation.intervals import Estimate, Z, wilson
from territorial.evaluation.outcome import PlacedGame, team_numbers, team_parts
from territorial.evaluation.ratings import Rating, Ratings
from territorial.typing import Floats

T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12)
"""Student's t at 97.5 per cent for 1 to 16 degrees of freedom."""
FEW = 30
"""With fewer games, they are too much alike to say how far others would differ."""


class PlayerSummary(NamedTuple):
    """How one player did."""

    player: str
    seats: int
    """In all games together."""
    place: Estimate
    """Mean place; with teams over the teams it played for, each as far as their seats were its own."""
    wins: Estimate
    """Share of all games that it won; those that end equal share a game. Seats of a team share its win."""
    fair: Estimate
    """Wins over the share of all seats that it had: 1 is what a player like all others gets. With teams the
    share of all teams, of which a seat of a team of n is an n-th."""


class PlaceArrays:
    """Places as arrays: G games, P seats, N players in the order of their names."""

    def __init__(self, records: Sequence[PlacedGame]) -> None:
        if not records:
            raise ValueError("there are no records of games; there must be at least one")
        self.players = tuple(sorted({name for record in records for name in record.seats}))
        """Names of all players."""
        index = {name: i for i, name in enumerate(self.players)}
        self.who = np.array([[index[name] for name in record.seats] for record in records])
        """(G, P) who played the seat."""
        self.places: Floats = np.array([record.places for record in records], np.float64)
        """(G, P)"""
        self.teams = np.array([team_numbers(record.teams, len(record.seats)) for record in records])
        """(G, P) the team of the seat; without teams each seat is a team of one."""
        self.parts = np.array([team_parts(row) for row in self.teams])
        """(G, P) which part of its team the seat is. Places and wins are those of teams: seats share them."""

    def table(self) -> list[PlayerSummary]:
        """Return how every player did, by mean place.

        Intervals of wins are Wilson's, of as many trials as there are games, however many seats a player has:
        seats of one game are no evidence of their own. Those of places are Student's, over games; with
        fewer than FEW games, as wide as those of any places there are can be.
        """
        best = (self.places == self.places.min(axis=1, keepdims=True)) * self.parts
        wins, seats = self.by_player(best / best.sum(axis=1, keepdims=True)), self.by_player()
        places, held = self.by_player(self.places * self.parts), self.by_player(self.parts)
        games, last = len(self.places), int(self.teams.max())
        lines = []
        for i, player in enumerate(self.players):
            played = int(np.count_nonzero(seats[:, i]))
            if played < FEW:
                mean = (places[:, i].sum() / held[:, i].sum() - 1) / (last - 1)
                place = Estimate(*(1 + (last - 1) * value for value in wilson(mean, played)))
            else:
                place = Estimate(*np.clip(mean_of(places[:, i], held[:, i]), 1, last).tolist())
            won = wilson(wins[:, i].sum() / games, games)
            share = held[:, i].sum() / held.sum()
            fair = Estimate(*(value / share for value in won))
            lines.append(PlayerSummary(player, int(seats[:, i].sum()), place, won, fair))
        return sorted(lines, key=lambda line: line.place.value)

    def beats(self) -> Floats:
        """Return (N, N), how often a seat of i is placed above one of j; NaN if they never met.

        Equal places count half. Two teams count once, however many seats they have, and allies not at all.
        """
        count = len(self.players)
        won, met = np.zeros((count, count)), np.zeros((count, count))
        for who, places, teams, parts in zip(self.who, self.places, self.teams, self.parts, strict=True):
            ahead = (places[:, None] < places) + 0.5 * (places[:, None] == places)
            others = (teams[:, None] != teams) * (parts[:, None] * parts)
            pairs = (who[:, None] * count + who).ravel()
            won += np.bincount(pairs, (ahead * others).ravel(), count**2).reshape(count, count)
            met += np.bincount(pairs, others.ravel(), count**2).reshape(count, count)
        beats: Floats = np.divide(won, met, out=np.full((count, count), np.nan), where=met > 0)
        return beats

    def mixed_teams(self) -> float:
        """Return the share of all teams that have seats of more than one player."""
        games = zip(self.teams.tolist(), self.who.tolist(), strict=True)
        held = [Counter(team for team, _ in {*zip(teams, who, strict=True)}) for teams, who in games]
        return float(np.mean([players > 1 for teams in held for players in teams.values()]))

    def by_player(self, values: npt.NDArray[Any] | None = None) -> Floats:
        """Return (G, N), sums over the seats of each player of ``values`` (G, P), or of ones."""
        games = len(self.who)
        count = len(self.players)
        cells = (np.arange(games)[:, None] * count + self.who).ravel()
        weights = None if values is None else np.asarray(values, np.float64).ravel()
        return np.bincount(cells, weights, games * count).reshape(games, count).astype(np.float64)


def students_t(freedom: int) -> float:
    """Return Student's t at 97.5 per cent, to half a per cent."""
    return T[freedom - 1] if freedom <= len(T) else Z + 2.5 / freedom


def mean_of(sums: Floats, counts: Floats | None = None) -> Estimate:
    """Return the mean over games (G,) with Student's interval; of one game there is no interval.

    ``sums`` are of as many numbers as ``counts`` says, of one by default. NaN if there are none in any game.
    """
    weights = np.ones(len(sums)) if counts is None else counts
    games, mean, half = int(np.count_nonzero(weights)), math.nan, math.nan
    if games > 0:
        mean = float(sums.sum() / weights.sum())
    if games > 1:
        scatter = np.sum((sums - mean * weights) ** 2) * games / (games - 1)
        half = students_t(games - 1) * float(np.sqrt(scatter) / weights.sum())
    return Estimate(mean, mean - half, mean + half)


def spread(values: npt.NDArray[Any]) -> dict[str, float]:
    """Return the least, the quartiles and the most of ``values``."""
    names = ("min", "quartile_1", "median", "quartile_3", "max")
    return dict(zip(names, map(float, np.percentile(values, (0, 25, 50, 75, 100))), strict=True))


def rate(records: Iterable[PlacedGame]) -> dict[str, Rating]:
    """Return the ratings of all players that met another one in these games, as fixed players have them.

    Games are taken in an order drawn from a fixed seed, as the last ones move a rating a little more. Between
    1.96 sigma to both sides lies what as many other games would say, 95 times of 100, or more often where a
    player has many seats. The intervals leave out the unit that all have in common. With 400 games of 32
    seats ratings may lie a sixth too far apart or too close, with 4,000 a thirtieth. With fewer than 100
    those of the best and the worst are still on their way from 25.
    """
    ratings, games = Ratings(fixed=True), sorted(records, key=lambda record: record.game)
    for i in np.random.default_rng(0).permutation(len(games)):
        ratings.record(games[i].seats, games[i].places, games[i].teams)
    return {name: Rating(*pair) for name, pair in ratings.to_dict().items()}
