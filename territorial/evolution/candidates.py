"""The styles of a population, and what is known of how well each one plays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from territorial.bots.style import Style

KEPT = 0.8
"""What the games of earlier generations count: they were played beside weaker candidates."""


@dataclass(frozen=True)
class Candidate:
    """A style of the population.

    Args:
        style: what it is.
        seats: seats that it has played, those of earlier generations counted in part.
        total: sum over them of what it scored: 1 for the first place, -1 for the last.

    """

    style: Style
    seats: float = 0.0
    total: float = 0.0

    @property
    def score(self) -> float:
        """The mean over its seats; that of the last place if it has played none."""
        return self.total / self.seats if self.seats else -1.0

    def aged(self) -> Candidate:
        """Return it as it enters another generation."""
        return Candidate(self.style, self.seats * KEPT, self.total * KEPT)

    def after(self, seats: int, total: float) -> Candidate:
        """Return it after so many more seats that scored ``total`` together."""
        return Candidate(self.style, self.seats + seats, self.total + total)

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON has."""
        return {"style": self.style.to_dict(), "seats": self.seats, "total": self.total}

    @classmethod
    def from_dict(cls, values: Any) -> Candidate:
        """Return the candidate of :meth:`to_dict`."""
        return cls(Style.from_dict(values["style"]), float(values["seats"]), float(values["total"]))
