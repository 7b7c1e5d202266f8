"""The games of a generation: which styles and bots meet, how they are played, and what every style scores."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from territorial.bots.style import Style
from territorial.config import GameConfig
from territorial.engine.seats import Seat
from territorial.engine.vec_game import VecGame
from territorial.evolution.settings import EvolutionSettings
from territorial.typing import Floats, Ints

SIDE_BY_SIDE = 16
"""Games that a thread plays at once: their memory still fits into the caches."""
DECISIONS = 20
"""Of a call of the engine."""
MOST_USES = 10
"""Generations of a batch: making one takes as long as some fifty games, most of it for maps."""


class Matchup(NamedTuple):
    """The players of a game."""

    styles: Ints
    """Numbers of styles, each of which has a seat."""
    own: Ints
    """Their seats: indices into ``seats``."""
    seats: list[Seat]
    seed: int


def dealt(settings: EvolutionSettings, styles: Sequence[Style], rng: np.random.Generator) -> list[Matchup]:
    """Return games in which every style plays ``settings.games_per_style`` times or once more."""
    players, seats = settings.config.num_players, settings.style_seats
    order = np.concatenate([rng.permutation(len(styles)) for _ in range(settings.games_per_style)])
    matchups = []
    for own in np.resize(order, (-(-len(order) // seats), seats)):
        opponents = rng.integers(len(settings.opponents), size=players - seats)
        sitting = [*(styles[i] for i in own), *(settings.opponents[i] for i in opponents)]
        drawn = rng.permutation(players)
        seed = int(rng.integers(2**63))
        matchups.append(Matchup(own, np.argsort(drawn)[:seats], [sitting[i] for i in drawn], seed))
    return matchups


class Arena:
    """Plays games of one config, in a batch that is kept from one generation to the next.

    Args:
        config: of the games.
        threads: that share them; no result depends on it.

    """

    def __init__(self, config: GameConfig, threads: int = 1) -> None:
        self._config, self._threads = config, threads
        self._game: VecGame | None = None
        self._used = 0

    def play(self, matchups: Sequence[Matchup]) -> Floats:
        """Return the places of the styles, (games, seats), after all games."""
        if self._game is None or self._used == MOST_USES:  # it knows all styles that it ever had
            self._game = VecGame(
                self._config,
                SIDE_BY_SIDE * self._threads,
                num_threads=self._threads,
                autoreset="disabled",
                observe=False,
            )
            self._used = 0
        self._used += 1
        game, size = self._game, self._game.num_games
        found = [_portion(game, matchups[first : first + size]) for first in range(0, len(matchups), size)]
        return np.concatenate(found)


def _portion(game: VecGame, matchups: Sequence[Matchup]) -> Floats:
    """Play as many games side by side as there are ``matchups``, of a batch of as many or more."""
    for k, matchup in enumerate(matchups):
        game.set_seats(k, matchup.seats)
    seeds = [matchup.seed for matchup in matchups]
    game.reset(seeds=seeds + [0] * (game.num_games - len(seeds)))
    for spare in range(len(matchups), game.num_games):
        game.stop_game(spare)
    while not game.state.over.all():
        game.step(repeat=DECISIONS)
    places = game.state.place2[:, 1:] / 2
    return np.array([places[k, matchup.own] for k, matchup in enumerate(matchups)])


def scored(matchups: Sequence[Matchup], places: Floats, count: int) -> list[tuple[int, float]]:
    """Return, for each of ``count`` styles, its seats in these games and the sum of what they scored.

    A seat scores 1 over its place, so that most is gained near the top: the first place is worth two second
    ones. From that the mean of the game's styles is taken: some games are harder than others.
    """
    values = 1 / places
    better = values - values.mean(axis=1, keepdims=True)
    who = np.array([matchup.styles for matchup in matchups]).ravel()
    seats, totals = np.bincount(who, minlength=count), np.bincount(who, better.ravel(), count)
    return list(zip(seats.tolist(), totals.tolist(), strict=True))
