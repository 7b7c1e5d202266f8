"""Who came in above whom, added up over games: the payoff table that a league matches its players by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.arguments import whole_number

CAPACITY = 1024
"""Opponents that are remembered of a player, if nobody says otherwise."""


class Payoff(NamedTuple):
    """How a player did against an opponent. Both may have several seats in a game, which make pairs."""

    games: int = 0
    """In which at least one pair of them was decided."""
    wins: int = 0
    """Games among these that the player won."""
    pairs: int = 0
    """Pairs of seats, one of each, that were decided."""
    above: float = 0.0
    """Pairs in which the player came in above the opponent; equal ones count half."""
    places: float = 0.0
    """Sum over pairs of the opponent's place less the player's: above 0 if the player is the better one."""

    @property
    def above_rate(self) -> float:
        """How often a seat of the player comes in above one of the opponent; NaN if they never met."""
        return self.above / self.pairs if self.pairs else float("nan")

    @property
    def win_rate(self) -> float:
        """The share of their games that the player won; NaN if they never met."""
        return self.wins / self.games if self.games else float("nan")

    @property
    def place_difference(self) -> float:
        """By how many places the player comes in above the opponent on average; NaN if they never met."""
        return self.places / self.pairs if self.pairs else float("nan")

    def plus(self, other: Payoff) -> Payoff:
        """Return the sum of both."""
        return Payoff(
            self.games + other.games,
            self.wins + other.wins,
            self.pairs + other.pairs,
            self.above + other.above,
            self.places + other.places,
        )


class Payoffs:
    """A ``Payoff`` for every player that is followed and everyone that it met.

    Args:
        capacity: opponents that are remembered of a player; beyond that, those are forgotten that it has not
            met for longest. Memory has a bound, then, however many snapshots come and go.

    Players are named as in league tables: ``trainable:main``, ``snapshot:main-12``, ``bot:banker``.

    """

    def __init__(self, *, capacity: int = CAPACITY) -> None:
        self.capacity = whole_number("capacity", capacity, 1, 10**6)
        self._payoffs: dict[str, dict[str, Payoff]] = {}

    def __repr__(self) -> str:
        met = sum(map(len, self._payoffs.values()))
        return f"Payoffs({', '.join(self.players()) or 'nobody'}; {met} pairings)"

    def __bool__(self) -> bool:
        return bool(self._payoffs)

    def players(self) -> list[str]:
        """Return the names of those that are followed, in alphabetical order."""
        return sorted(self._payoffs)

    def opponents(self, player: str) -> list[str]:
        """Return whom ``player`` met, in alphabetical order."""
        return sorted(self._payoffs.get(player, ()))

    def of(self, player: str, opponent: str) -> Payoff:
        """Return how ``player`` did against ``opponent``; all zero if they never met."""
        return self._payoffs.get(player, {}).get(opponent, Payoff())

    def add_game(
        self, seats: Sequence[str], places: npt.ArrayLike, followed: Iterable[str] | None = None
    ) -> None:
        """Add a game that is over, or was left.

        Args:
            seats: who played each of the P seats.
            places: (P,), 1 for the winner, 0 for those who were alive when the game was left. They came in
                above all others, at the mean of the places that are left; who of them is above whom is not
                known, and such pairs do not count.
            followed: whose results are added; None: everybody's.

        """
        names, who = np.unique(np.asarray(seats, object).astype(str), return_inverse=True)
        place = np.asarray(places, np.float64)
        if place.shape != who.shape:
            raise ValueError(f"places has the shape {place.shape}; there are {len(who)} seats")
        is_open = place <= 0
        place = np.where(is_open, (is_open.sum() + 1) / 2, place)
        wanted = None if followed is None else set(followed)
        for n in np.unique(who):
            if wanted is None or names[n] in wanted:
                self._add_rows(str(names[n]), names, who == n, who, place, is_open)

    def _add_rows(
        self,
        player: str,
        names: npt.NDArray[Any],
        own: npt.NDArray[np.bool_],
        who: npt.NDArray[np.int64],
        place: npt.NDArray[np.float64],
        is_open: npt.NDArray[np.bool_],
    ) -> None:
        """Add what ``player``, who had the seats ``own``, did against each of the others."""
        decided = ~own & ~(is_open[own][:, None] & is_open)
        ahead = place - place[own][:, None]
        above = (ahead > 0) + 0.5 * (ahead == 0)
        count = len(names)
        sums = [
            np.bincount(who, (decided * part).sum(0), count) for part in (np.ones_like(ahead), above, ahead)
        ]
        won = int((~is_open & own & (place == 1)).any())
        for n in np.flatnonzero(sums[0]):
            pairs, higher, places = (part[n] for part in sums)
            self._add(player, str(names[n]), Payoff(1, won, int(pairs), float(higher), float(places)))

    def add(self, other: Payoffs) -> None:
        """Add all that ``other`` has."""
        for player, rows in other._payoffs.items():
            for opponent, payoff in rows.items():
                self._add(player, opponent, payoff)

    def _add(self, player: str, opponent: str, payoff: Payoff) -> None:
        rows = self._payoffs.setdefault(player, {})
        rows[opponent] = rows.pop(opponent, Payoff()).plus(payoff)  # the last one is whom it met last
        if len(rows) > self.capacity:
            del rows[next(iter(rows))]

    def forget(self, name: str) -> None:
        """Forget a player, and that others met it; nothing happens if nobody knows it."""
        self._payoffs.pop(name, None)
        for rows in self._payoffs.values():
            rows.pop(name, None)

    def weights(self, player: str, opponents: Iterable[str], *, power: float = 1.0) -> dict[str, float]:
        """Return a weight for each of ``opponents``, for a ``Group``: the more, the harder they are.

        It is the rate at which an opponent comes in above ``player``, to the ``power``; one that was never
        met counts as equal.
        """
        weights = {}
        for name in opponents:
            payoff = self.of(player, name)
            weights[name] = float((1 - payoff.above_rate if payoff.pairs else 0.5) ** power)
        return weights

    def to_dict(self) -> dict[str, Any]:
        """Return the table as values that JSON has: a list of five numbers by player and opponent."""
        rows = {
            player: {name: list(payoff) for name, payoff in own.items()}
            for player, own in self._payoffs.items()
        }
        return {"capacity": self.capacity, "payoffs": rows}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Payoffs:
        """Return the table of ``to_dict``; ValueError for anything else."""
        if not isinstance(values, Mapping) or set(values) != {"capacity", "payoffs"}:
            raise ValueError(f"a payoff table is {values!r}; it must have the fields capacity and payoffs")
        table = cls(capacity=values["capacity"])
        for player, rows in values["payoffs"].items():
            for opponent, numbers in rows.items():
                if len(numbers) != len(Payoff._fields):
                    raise ValueError(
                        f"the payoff of {player} against {opponent} is {numbers!r}; it must be "
                        f"{len(Payoff._fields)} numbers: {', '.join(Payoff._fields)}"
                    )
                table._add(player, opponent, Payoff(*numbers))
        return table
