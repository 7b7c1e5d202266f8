"""``Standings``: how players did against each other in games, as tables and text."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from territorial.evaluation.intervals import Estimate
from territorial.evaluation.outcome import Outcome, PlacedGame
from territorial.evaluation.payoff import PayoffMatrix
from territorial.evaluation.ratings import NEEDED, Rating
from territorial.evaluation.statistics import PlaceArrays, PlayerSummary, rate
from territorial.typing import Floats


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
            f"{name:{longest}}{seats:>9}{place:>19}{won:>20}{fair:>19}{rating:>15}"
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
