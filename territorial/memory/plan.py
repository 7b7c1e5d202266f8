"""Memory plans: amounts per process and phase, sums and budgets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

MB = 2**20
MOST_CORES = 10_000
"""Of a machine that a run is planned for."""

Place = Literal["driver", "runner", "learner", "node"]
"""Where an amount is taken: in the process that runs the algorithm, in each that plays or learns, or once."""
Phase = Literal["built", "building", "training"]

PHASES: Mapping[Phase, str] = {
    "built": "stays as long as the algorithm",
    "building": "comes on top while it is built",
    "training": "comes on top in an iteration",
}
"""When an amount is taken."""


class Item(NamedTuple):
    """One amount of memory."""

    name: str
    places: tuple[Place, ...]
    phase: Phase
    nbytes: int
    """In one process, or once on the machine."""
    why: str
    """The arithmetic."""
    is_idle: bool = False
    """True for what processes take that have imported everything and do nothing."""


@dataclass(frozen=True)
class Plan:
    """The memory of a league that trains in one form, of all processes on one machine.

    Args:
        form: how it trains.
        runners: env runners that are processes of their own.
        learners: learners that are processes of their own.
        items: all amounts.

    """

    form: str
    runners: int
    learners: int
    items: tuple[Item, ...]

    @property
    def counts(self) -> dict[Place, int]:
        """How many processes of each kind there are; the machine counts as one."""
        return {"driver": 1, "runner": self.runners, "learner": self.learners, "node": 1}

    def of_one(self, place: Place, phase: Phase) -> int:
        """Return the bytes that a phase takes in one process of a kind, or once on the machine."""
        return sum(item.nbytes for item in self.items if place in item.places and item.phase == phase)

    def of_all(self, phase: Phase) -> int:
        """Return the bytes that a phase takes in all processes together."""
        return sum(count * self.of_one(place, phase) for place, count in self.counts.items())

    def of_item(self, item: Item) -> int:
        """Return the bytes of an item in all processes together."""
        return sum(self.counts[place] for place in item.places) * item.nbytes

    @property
    def built(self) -> int:
        """Bytes of all processes together when the algorithm is built."""
        return self.of_all("built")

    @property
    def built_over_idle(self) -> int:
        """The same over processes that have imported everything and do nothing."""
        return self.built - sum(self.of_item(item) for item in self.items if item.is_idle)

    @property
    def peak(self) -> int:
        """Bytes of all processes together at the worst moment, of building or of an iteration."""
        return self.built + max(self.of_all("building"), self.of_all("training"))

    def check_budget(self, budget: int) -> None:
        """Raise BudgetError if the worst moment takes more than ``budget`` bytes."""
        if self.peak > budget:
            largest = sorted(self.items, key=self.of_item, reverse=True)[:3]
            parts = ", ".join(f"{item.name} {in_mb(self.of_item(item))}" for item in largest)
            raise BudgetError(
                f"the league needs {in_mb(self.peak)} ({self.form}); the budget is {in_mb(budget)}, "
                f"{self.peak - budget:,} B less. Most is taken by: {parts}"
            )


class BudgetError(MemoryError):
    """A league does not fit into the memory that it may take."""


def in_mb(nbytes: float) -> str:
    """Return a size in MB, or in GB from 10,000 MB on; an MB is 2**20 bytes."""
    if nbytes >= 10_000 * MB:
        return f"{nbytes / 2**30:,.1f} GB"
    return f"{nbytes / MB:,.0f} MB" if nbytes >= 10 * MB else f"{nbytes / MB:,.2f} MB"
