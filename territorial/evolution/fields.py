"""The games of a generation: which styles of the population meet which bots, on which seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from territorial.evaluation.schedule import Fixture
from territorial.evolution.settings import EvolutionSettings

ONE_KIND = 0.5
"""Share of the games in which all opponents are of one kind; in the others each seat is drawn by itself."""
SHARPNESS = 2.0
"""How much more often the kinds are drawn that are placed above the population more often: a power."""
LEAST_WEIGHT = 0.02
"""Of a kind that the population always beats: it must not be forgotten how."""


def fixtures(
    settings: EvolutionSettings,
    styles: Sequence[str],
    beaten: Mapping[str, float],
    rng: np.random.Generator,
) -> list[Fixture]:
    """Return games in which every style plays ``settings.games`` seats, or one more, against bots.

    Args:
        settings: of the evolution.
        styles: names of the population.
        beaten: by bot, the share of its seats that the population was placed above.
        rng: draws seats, opponents and seeds.

    """
    players, seats = settings.config.num_players, settings.candidates
    rounds = np.concatenate([rng.permutation(len(styles)) for _ in range(settings.games)])
    games = -(-len(rounds) // seats)
    chosen = np.resize(rounds, (games, seats))
    found = []
    for number, own in enumerate(chosen):
        names = [styles[i] for i in own] + _opponents(settings, beaten, players - seats, rng)
        order = rng.permutation(players)
        seed = int(rng.integers(2**62))
        found.append(Fixture(number, seed, tuple(names[i] for i in order)))
    return found


def _opponents(
    settings: EvolutionSettings, beaten: Mapping[str, float], count: int, rng: np.random.Generator
) -> list[str]:
    """Return the bots of a game: all of one kind, or each drawn by itself."""
    weights = np.array([LEAST_WEIGHT + (1 - beaten[name]) ** SHARPNESS for name in settings.opponents])
    if rng.random() < ONE_KIND:
        return [settings.opponents[rng.choice(len(weights), p=weights / weights.sum())]] * count
    return [settings.opponents[i] for i in rng.integers(len(settings.opponents), size=count)]
