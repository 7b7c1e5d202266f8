"""The result of a match: games, standings, ratings, as text and as values that JSON has."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from territorial.evaluation.charts import draw_charts
from territorial.evaluation.ratings import NEEDED, Rating, rate
from territorial.evaluation.record import GameRecord
from territorial.evaluation.schedule import MATCH, Contest
from territorial.evaluation.statistics import Estimate, Line, RecordArrays
from territorial.typing import Floats

MOST_BEATS = 12
"""Players for which the matrix of placements is printed."""


class Ranking:
    """The players of a match, ranked by the games that have been played.

    Args:
        contest: which games there are.
        records: the games that have been played.

    All but ``contest``, ``records`` and ``is_complete`` raise ValueError if there are no games.

    """

    def __init__(self, contest: Contest, records: Sequence[GameRecord]) -> None:
        self.contest = contest
        self.records = tuple(records)
        self.is_complete = len(self.records) == contest.games
        """False if it was interrupted: not all games have been played."""

    @property
    def players(self) -> tuple[str, ...]:
        """The names of all who played, in alphabetical order."""
        return self._arrays.players

    @cached_property
    def standings(self) -> tuple[Line, ...]:
        """How every player did, by mean place: seats, place, wins, wins over the fair share."""
        return tuple(self._arrays.table())

    @cached_property
    def ratings(self) -> Mapping[str, Rating] | None:
        """Ratings of all who met another player; None without the extra ``league``."""
        try:
            return rate(self._arrays.records)
        except ImportError:
            return None

    @cached_property
    def beats(self) -> Floats:
        """(N, N) how often a seat of player i is placed above one of j, in the order of ``players``."""
        return self._arrays.beats()

    def table(self) -> str:
        """Return the standings as text, one line a player; a dash for a rating of who met no other."""
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
        """Return the standings, the matrix of placements, and what the games were like, as text."""
        shape, config = self._arrays.shape(), self.contest.config
        gone, length = shape["neutral_gone"], shape["length"]
        lines = [self.table(), "", *self._beats_lines()]
        if config.has_allies:
            mixed = self._arrays.mixed_teams()
            whose = f"{100 * mixed:.0f} % of them of several players" if mixed else "each of one player"
            lines.append(f"{config.num_teams} teams, {whose}; places and wins are those of teams")
            if mixed:
                lines.append("in a mixed team a player has its part of what all members did")
        lines.append(
            f"{shape['games']:,} games; length {length['min']:,.0f} to {length['max']:,.0f} ticks, median "
            f"{length['median']:,.0f}; the time limit stops {100 * shape['stopped_by_time']:.0f} %"
        )
        if gone is not None:
            lines.append(f"neutral land is gone at tick {gone['median']:,.0f} in the median")
        if shape["alive"]:
            found = (f"{one['median']:g} at {int(tick):,}" for tick, one in shape["alive"].items())
            lines.append(f"players alive, in the median: {', '.join(found)}")
        if self.ratings is None:
            lines.append(NEEDED)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything there is to say, as values that JSON has: what ``--json`` writes of the games."""
        arrays, contest, ratings = self._arrays, self.contest.schedule({}).to_dict(), self.ratings or {}
        standings = [
            {
                "player": line.player,
                "seats": line.seats,
                **{name: getattr(line, name)._asdict() for name in ("place", "wins", "fair")},
                "rating": ratings[line.player]._asdict() if line.player in ratings else None,
            }
            for line in self.standings
        ]
        return {
            "contest": contest | contest.pop("settings")[MATCH] | {"games": self.contest.games},
            "shape": arrays.shape(),
            **({"mixed_teams": arrays.mixed_teams()} if self.contest.config.has_allies else {}),
            "standings": standings,
            "players": list(self.players),
            "beats": [[None if np.isnan(share) else float(share) for share in row] for row in self.beats],
            "ticks": arrays.ticks.tolist(),
            "survival": arrays.survival(arrays.ticks).tolist(),
            "land": arrays.land(arrays.ticks).tolist(),
        }

    def draw(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Draw plots into ``folder`` and return their paths; ImportError without the extra ``league``.

        They show who beats whom, how many seats live, and how much land they have.
        """
        return draw_charts(self._arrays, Path(folder))

    @cached_property
    def _arrays(self) -> RecordArrays:
        return RecordArrays(self.records)

    def _beats_lines(self) -> list[str]:
        """Return how often a seat of one player is placed above one of another, if there are few of them."""
        order = [line.player for line in self.standings]
        if len(order) == 1:
            return []
        if len(order) > MOST_BEATS:
            return ["how often one comes in before another: see --json or --plots"]
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
