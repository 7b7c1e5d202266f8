"""A population of styles on its way: its generations play, are compared, and vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from territorial.bots.style import Style
from territorial.evaluation.play import play_games
from territorial.evaluation.pool import Play
from territorial.evolution import variation
from territorial.evolution.candidates import Candidate
from territorial.evolution.fields import fixtures
from territorial.evolution.settings import EvolutionSettings
from territorial.evolution.standings import Standings

CROSSED = 0.3
"""Share of the descendants that have two parents."""
DOUBT = 80
"""Seats that have to be played before a score counts half: the variance of the score of a seat over that
between the styles of a generation."""
FOREIGN = 0.06
"""Share of every generation that is drawn at random, so that new ideas can still come."""


@dataclass(frozen=True)
class Generation:
    """What came of a generation.

    Args:
        number: of the generation, from 1.
        games: that it played.
        best: score of the best style: 1 for first places, -1 for last ones.
        place: mean place of the best styles' seats in these games, of 1 to P; of all parents.
        hardest: the bot that was most often placed above the parents.
        beaten: share of that bot's seats that they were placed above.

    """

    number: int
    games: int
    best: float
    place: float
    hardest: str
    beaten: float


@dataclass
class Evolution:
    """A population on its way; ``candidates`` are in the order of their scores, the best first.

    Args:
        settings: what was asked for.
        candidates: the population.
        beaten: by bot, the share of its seats that the parents were placed above.
        history: what came of each generation so far.

    """

    settings: EvolutionSettings
    candidates: list[Candidate]
    beaten: dict[str, float]
    history: list[Generation] = field(default_factory=list)

    @classmethod
    def begun(cls, settings: EvolutionSettings, start: Sequence[Style] = ()) -> Evolution:
        """Return a population of the styles ``start``, varied; without any, of styles drawn at random."""
        rng = _random(settings, 0)
        names = [f"{settings.name}:0.{i}" for i in range(settings.population)]
        if not start:
            styles = [variation.random_style(name, rng) for name in names]
        else:
            kept = [replace(style, name=name) for style, name in zip(start, names, strict=False)]
            rest = names[len(kept) :]
            styles = kept + [
                variation.varied(start[i % len(start)], name, rng) for i, name in enumerate(rest)
            ]
        return cls(settings, [Candidate(style) for style in styles], dict.fromkeys(settings.opponents, 0.5))

    @property
    def best(self) -> Style:
        """The style with the highest score, by the name that was asked for."""
        return replace(self.candidates[0].style, name=self.settings.name)

    def next_generation(self, play: Play) -> Generation:
        """Play the games of the population, keep the best of it and fill it up with their descendants."""
        number = len(self.history) + 1
        rng = _random(self.settings, number)
        population = self._population(number, rng)
        styles = {one.style.name: one.style for one in population}
        games = fixtures(self.settings, list(styles), self.beaten, rng)
        standings = Standings(styles, self.settings.opponents)
        for record in play_games(self.settings.config, styles, games, play):
            standings.add(record)
        played = [one.after(*standings.score_of(one.style.name)) for one in population]
        self.candidates = ranked(played)
        return self._noted(number, len(games), standings)

    def _population(self, number: int, rng: np.random.Generator) -> list[Candidate]:
        if number == 1:
            return self.candidates
        parents = [one.aged() for one in self.candidates[: self.settings.parents]]
        children = range(self.settings.population - len(parents))
        return parents + [
            Candidate(self._child(f"{self.settings.name}:{number}.{i}", parents, rng)) for i in children
        ]

    def _child(self, name: str, parents: Sequence[Candidate], rng: np.random.Generator) -> Style:
        """Return a descendant of one or two parents, or rarely of none."""
        if rng.random() < FOREIGN:
            return variation.random_style(name, rng)
        one, other = (parents[i].style for i in rng.integers(len(parents), size=2))
        if rng.random() < CROSSED:
            one = variation.crossed(one, other, name, rng)
        return variation.varied(one, name, rng)

    def _noted(self, number: int, games: int, standings: Standings) -> Generation:
        parents = [one.style.name for one in self.candidates[: self.settings.parents]]
        for bot, share in standings.beaten_by(parents).items():
            self.beaten[bot] = (self.beaten[bot] + share) / 2
        hardest = min(self.beaten, key=lambda name: self.beaten[name])
        place = standings.mean_place(parents)
        done = Generation(number, games, self.candidates[0].score, place, hardest, self.beaten[hardest])
        self.history.append(done)
        return done


def ranked(played: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates by what their seats make probable, the best first.

    A score of few seats says little: the best of many new styles was mostly lucky. So each score is drawn
    towards the mean of all, the more the fewer seats it rests on.
    """
    mean = sum(one.total for one in played) / sum(one.seats for one in played)
    return sorted(played, key=lambda one: -(one.total + DOUBT * mean) / (one.seats + DOUBT))


def _random(settings: EvolutionSettings, generation: int) -> np.random.Generator:
    """Return the random numbers of a generation, which are the same after an interruption."""
    return np.random.default_rng([settings.seed, generation])
