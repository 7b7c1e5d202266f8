"""Plackett-Luce ratings of players by their places, as in openskill."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from territorial.evaluation.intervals import Z
from territorial.evaluation.outcome import team_numbers

NEEDED = "ratings need openskill: pip install 'territorial-env[league]' (or '.[league]' in the checkout)"
"""What is said where it is not installed."""


class Rating(NamedTuple):
    """How strong a player is thought to be, and how sure that is: a mean and its standard deviation."""

    mu: float
    sigma: float

    def text(self) -> str:
        """Return the rating and half its interval as tables show them."""
        return f"{self.mu:.1f} ± {Z * self.sigma:.1f}"


class Ratings:
    """The ratings of players, brought up to date game by game; all begin at 25 +- 25/3.

    Every seat enters a game with the rating of its player. A player of several seats leaves with the mean of
    theirs (of the variances for sigma), so that seats of one player are no more evidence than one. Places
    count, not distances; equals are ties. With teams, the sums of their members' ratings compete, and each
    member has a part in what its team's place says. ImportError without the extra "league".

    Args:
        fixed: whether players stay as they are. If not, the last games count most, and sigma never falls
            below some 3. If they do, every game counts by what it tells, and sigma falls as the square root
            of the number of games grows.

    """

    START = Rating(25.0, 25.0 / 3.0)

    def __init__(self, *, fixed: bool = False) -> None:
        try:
            from openskill.models import PlackettLuce
        except ImportError:
            raise ImportError(NEEDED) from None
        # By gamma, the part of a game's evidence by which sigma falls, openskill itself is cautious.
        self._model: Any = PlackettLuce(tau=0.0, gamma=lambda *_: 1.0) if fixed else PlackettLuce()
        self._ratings: dict[str, Rating] = {}

    def __getitem__(self, name: str) -> Rating:
        return self._ratings.get(name, self.START)

    def record(self, seats: Sequence[str], places: Sequence[float], teams: Sequence[int] = ()) -> None:
        """Record a game; a place of NaN, of a survivor of a game that was left, is before all others.

        ``teams``: the team of each seat, whose members have one place; default (): no teams.
        """
        if len(set(seats)) < 2:
            return
        members: dict[int, list[int]] = {}
        for i, team in enumerate(team_numbers(teams, len(seats)).tolist()):
            members.setdefault(team, []).append(i)
        ranks = [0.0 if places[i] != places[i] else places[i] for i, *_ in members.values()]
        sides = [[self._model.rating(*self[seats[i]]) for i in side] for side in members.values()]
        left: dict[str, list[Any]] = {}
        for side, rated in zip(members.values(), self._model.rate(sides, ranks=ranks), strict=True):
            for i, rating in zip(side, rated, strict=True):
                left.setdefault(seats[i], []).append(rating)
        for name, found in left.items():
            mu = float(np.mean([rating.mu for rating in found]))
            sigma = float(np.sqrt(np.mean([rating.sigma**2 for rating in found])))
            self._ratings[name] = Rating(mu, sigma)

    def copy(self, name: str, other: str) -> None:
        """Let ``other`` have the rating of ``name``."""
        self._ratings[other] = self[name]

    def remove(self, name: str) -> None:
        """Forget a player, which starts from scratch if seen again."""
        self._ratings.pop(name, None)

    def to_dict(self) -> dict[str, list[float]]:
        """Return mu and sigma by player, in the order in which they came."""
        return {name: list(rating) for name, rating in self._ratings.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[float]]) -> Self:
        """Return the ratings of ``to_dict``."""
        ratings = cls()
        ratings._ratings = {name: Rating(*map(float, pair)) for name, pair in values.items()}
        return ratings
