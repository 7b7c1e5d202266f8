"""``Standings``: how players did against each other in games, as arrays, tables and text."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from territorial.evaluation.intervals import Estimate, mean_of, wilson
from territorial.evaluation.outcome import Outcome, PlacedGame, team_numbers, team_parts
from territorial.evaluation.ratings import NEEDED, PayoffMatrix, Rating, Ratings
from territorial.typing import Array, Floats

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
                place = mean_of(places[:, i], held[:, i], least=1, most=last)
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
        return np.divide(won, met, out=np.full((count, count), np.nan), where=met > 0)

    def mixed_teams(self) -> float:
        """Return the share of all teams that have seats of more than one player."""
        games = zip(self.teams.tolist(), self.who.tolist(), strict=True)
        held = [Counter(team for team, _ in {*zip(teams, who, strict=True)}) for teams, who in games]
        return float(np.mean([players > 1 for teams in held for players in teams.values()]))

    def by_player(self, values: Array | None = None) -> Floats:
        """Return (G, N), sums over the seats of each player of ``values`` (G, P), or of ones."""
        games = len(self.who)
        count = len(self.players)
        cells = (np.arange(games)[:, None] * count + self.who).ravel()
        weights = None if values is None else np.asarray(values, np.float64).ravel()
        return np.bincount(cells, weights, games * count).reshape(games, count).astype(np.float64)


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


def spread(values: Array) -> dict[str, float]:
    """Return the least, the quartiles and the most of ``values``."""
    names = ("min", "quartile_1", "median", "quartile_3", "max")
    return dict(zip(names, map(float, np.percentile(values, (0, 25, 50, 75, 100))), strict=True))


class Standings:
    """How the players of games did.

    Args:
        records: the games that have been played.
        is_complete: False if they were interrupted: not all games have been played.

    All but ``records`` and ``is_complete`` raise ValueError if there are no games.

    """

    def __init__(self, records: Sequence[PlacedGame], *, is_complete: bool) -> None:
        self.records = tuple(records)
        self.is_complete = is_complete
        """False if it was interrupted: not all games have been played."""

    @cached_property
    def _arrays(self) -> PlaceArrays:
        return PlaceArrays(self.records)

    @property
    def players(self) -> tuple[str, ...]:
        """The names of all players, in alphabetical order."""
        return self._arrays.players

    @cached_property
    def standings(self) -> tuple[PlayerSummary, ...]:
        """How every player did, by mean place: seats, place, wins, wins over the fair share."""
        return tuple(self._arrays.table())

    @cached_property
    def ratings(self) -> Mapping[str, Rating] | None:
        """Ratings of all players that met another one; None without the extra ``league``."""
        try:
            return rate(self.records)
        except ImportError:
            return None

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The players, places and teams of all games, in their order."""
        return tuple(Outcome(game.seats, game.places, game.teams) for game in self.records)

    @cached_property
    def payoff(self) -> PayoffMatrix:
        """How often each player was above each other one; a game counts once for a pair of players."""
        payoff = PayoffMatrix()
        for outcome in self.outcomes:
            payoff.record(*outcome)
        return payoff

    @cached_property
    def beats(self) -> Floats:
        """(N, N) how often a seat of player i is placed above one of j, in the order of ``players``."""
        return self._arrays.beats()

    def table(self) -> str:
        """Return the standings as text, one line per player; a dash replaces a missing rating."""
        rows = [("player", "seats", "mean place", "games won", "times fair", "rating")]
        for line in self.standings:
            rating = "" if self.ratings is None else "-"
            if self.ratings and line.player in self.ratings:
                rating = self.ratings[line.player].text()
            place, fair = _interval(line.place, 1, ".1f"), _interval(line.fair, 1, ".2f")
            won = _interval(line.wins, 100, ".1f") + " %"
            rows.append((line.player, f"{line.seats:,}", place, won, fair, rating))
        longest = max(15, *(len(name) for name, *_ in rows)) + 2
        return "\n".join(
            f"{name:{longest}}{seats:>9} {place:>18} {won:>19} {fair:>18} {rating:>14}"
            for name, seats, place, won, fair, rating in rows
        )

    def text(self) -> str:
        """Return the standings, the matrix of placements, and what there is to say of the games, as text."""
        needed = [NEEDED] if self.ratings is None else []
        return "\n".join([self.table(), "", *self._beats_lines(), *self._notes(), *needed])

    def _notes(self) -> list[str]:
        """Return what there is to say of the games, in lines."""
        return [f"{len(self.records):,} games"]

    def _beats_lines(self) -> list[str]:
        """Return how often a seat of one player is placed above one of another, if there are few of them."""
        order = [line.player for line in self.standings]
        if len(order) == 1:
            return []
        if len(order) > 12:  # too wide to print
            return ["how often one comes in before another: see --json or --plots, and beats in Python"]
        index, width = [self.players.index(name) for name in order], max(map(len, order)) + 2
        shown = [[f"{100 * share:.0f}" for share in row] for row in self.beats[np.ix_(index, index)]]
        lines = [
            f"{name:{width}}"
            + "".join(f"{'-' if i == j or cell == 'nan' else cell:>{width}}" for j, cell in enumerate(row))
            for i, (name, row) in enumerate(zip(order, shown, strict=True))
        ]
        head = " " * width + "".join(f"{name:>{width}}" for name in order)
        return [
            "a seat of the row comes in before one of the column, per cent of all times:",
            head,
            *lines,
            "",
        ]


def _interval(estimate: Estimate, scale: float, form: str) -> str:
    value, low, high = (f"{scale * number:{form}}" for number in estimate)
    return f"{value} ({low}..{high})"
