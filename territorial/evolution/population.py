"""A population of styles on its way: its generations play, the best stay and have descendants."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from territorial import bots
from territorial.bots.style import Style
from territorial.evolution.games import Arena, dealt, scored
from territorial.evolution.settings import EvolutionSettings
from territorial.evolution.variation import crossed, plain, random_style, varied

KEPT = 0.9
"""What the seats of earlier generations count: they were played beside other styles."""
DOUBT = 150
"""Seats after which a score counts half: the variance of what a seat scores over that between styles."""
CROSSED = 0.3
"""Share of the descendants that have two parents."""
FOREIGN = 0.06
"""Share of the descendants that are drawn at random, so that new ideas can still come."""


@dataclass(frozen=True)
class Candidate:
    """A style of the population, and what is known of its strength.

    Args:
        style: what it is.
        seats: seats that it has played, those of earlier generations counted in part.
        total: sum over them of what it scored.

    """

    style: Style
    seats: float = 0.0
    total: float = 0.0

    @property
    def strength(self) -> float:
        """What its score makes probable. A high one of few seats was mostly luck; the mean of all is 0."""
        return self.total / (self.seats + DOUBT)

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON has."""
        return {"style": self.style.to_dict(), "seats": self.seats, "total": self.total}

    @classmethod
    def from_dict(cls, values: Any) -> Candidate:
        """Return the candidate of :meth:`to_dict`."""
        return cls(Style.from_dict(values["style"]), float(values["seats"]), float(values["total"]))


class Generation(NamedTuple):
    """What came of a generation."""

    number: int
    """From 1 on."""
    games: int
    """Games that it played."""
    wins: float
    """Games that its styles won, over the share of all seats that they had: 1 is the fair share."""
    place: float
    """Mean place of all its styles, 1 to P."""
    best_place: float
    """Mean place of those that have descendants in the next generation."""
    processor_seconds: float
    """Of all threads; unlike all else here, they differ from run to run."""


@dataclass
class Evolution:
    """A population on its way.

    Args:
        settings: what was asked for.
        candidates: the population in the order of their strength, the best first.
        history: what came of each generation so far.

    """

    settings: EvolutionSettings
    candidates: list[Candidate]
    history: list[Generation] = field(default_factory=list)

    @classmethod
    def begun(cls, settings: EvolutionSettings) -> Evolution:
        """Return a population of the library's bots, at most a half, and of styles drawn at random."""
        rng = np.random.default_rng([settings.seed, 0])
        names = [f"{settings.name}:0.{i}" for i in range(settings.population)]
        known = [bot.style for bot in map(bots.make, bots.NAMES) if not bot.style.at_random]
        drawn = rng.permutation(len(known))[: settings.population // 2]
        styles = [plain(known[i], name) for i, name in zip(drawn, names, strict=False)]
        styles += [random_style(name, rng) for name in names[len(styles) :]]
        return cls(settings, [Candidate(style) for style in styles])

    @property
    def best(self) -> Style:
        """The strongest style, by the name that was asked for."""
        return replace(self.candidates[0].style, name=self.settings.name)

    def next_generation(self, arena: Arena) -> Generation:
        """Play the games of a population in ``arena``, and put it in order.

        Random numbers depend on the seed and the number of the generation alone, so that an evolution which
        was interrupted comes out as if it had not been.
        """
        number, started = len(self.history) + 1, time.process_time()
        rng = np.random.default_rng([self.settings.seed, number])
        population = self._population(number, rng)
        matchups = dealt(self.settings, [one.style for one in population], rng)
        places = arena.play(matchups)
        scores = scored(matchups, places, len(population))
        results = [
            Candidate(one.style, one.seats + seats, one.total + total)
            for one, (seats, total) in zip(population, scores, strict=True)
        ]
        order = sorted(range(len(results)), key=lambda i: -results[i].strength)
        self.candidates = [results[i] for i in order]
        is_best = np.isin([one.styles for one in matchups], order[: self.settings.parents])
        self.history.append(
            Generation(
                number=number,
                games=len(matchups),
                wins=float((places == 1).mean() * self.settings.config.num_players),
                place=float(places.mean()),
                best_place=float(places[is_best].mean()),
                processor_seconds=time.process_time() - started,
            )
        )
        return self.history[-1]

    def _population(self, number: int, rng: np.random.Generator) -> list[Candidate]:
        """Return who plays in a generation: in the first one all, then the best and their descendants."""
        if number == 1:
            return self.candidates
        best = self.candidates[: self.settings.parents]
        parents = [Candidate(one.style, one.seats * KEPT, one.total * KEPT) for one in best]
        names = (f"{self.settings.name}:{number}.{i}" for i in range(self.settings.population - len(parents)))
        return parents + [Candidate(_child(name, parents, rng)) for name in names]


def _child(name: str, parents: Sequence[Candidate], rng: np.random.Generator) -> Style:
    """Return a descendant of one or two parents, or rarely of none."""
    if rng.random() < FOREIGN:
        return random_style(name, rng)
    one, other = (parents[i].style for i in rng.integers(len(parents), size=2))
    if rng.random() < CROSSED:
        one = crossed(one, other, name, rng)
    return varied(one, name, rng)
