"""``Evolution``: generations of styles that play, survive and reproduce."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from territorial import bots
from territorial.bots.style import Style, check_name
from territorial.config import GameConfig
from territorial.config.fields import about, check_values, documents_fields, option
from territorial.config.validation import finite_number, whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS
from territorial.engine.seats import AGENT, EXTERNAL, Seat, check_seats
from territorial.engine.vec_game import VecGame
from territorial.training.variation import crossed, plain, random_style, varied
from territorial.typing import Floats, Ints

# ---- settings ------------------------------------------------------------------------------------

MAPS, TRAINING_MAPS = 16, 2**20
"""How many maps an evolution has, and the seed of the first: far from those of matches, which begin at 0."""


@documents_fields
@dataclass(frozen=True, kw_only=True)
class EvolutionSettings:
    """Settings of an evolution.

    ValueError or TypeError names what cannot be.

    """

    config: GameConfig = field(
        default_factory=lambda: GameConfig(map_seed=TRAINING_MAPS, num_maps=MAPS),
        metadata=about("of its games; default: 256 x 256 cells, 32 players, 16 maps from seed 2**20 on"),
    )
    opponents: tuple[str, ...] = option(bots.NAMES, "names of bots, ``style:FILE`` and ``net:FILE``")
    name: str = option("evolved-1", "what the style that is found is called")
    population: int = option(96, "styles of a generation", 6, 10_000)
    games_per_style: int = option(12, "games that each style plays in a generation", 1, 10_000)
    style_seats: int = option(
        0,
        "seats of a game that styles of the population have, at least 2 and fewer than P; 0: a fifth of them",
        0,
        MAX_PLAYERS - 1,
    )
    seed: int = option(0, "random seed", 0, LARGEST_SEED)

    def __post_init__(self) -> None:
        if not isinstance(self.config, GameConfig):
            raise TypeError(f"config is {self.config!r}; it must be a GameConfig")
        check_name("an evolved style", self.name)
        if self.name in bots.RESERVED_NAMES:
            raise ValueError(f"name is {self.name!r}, the name of a built-in bot; choose another name")
        object.__setattr__(self, "opponents", tuple(self.opponents))
        if not self.opponents:
            raise ValueError("opponents is empty; name at least one bot")
        check_seats(self.opponents, len(self.opponents))
        if driven := {AGENT, EXTERNAL}.intersection(self.opponents):
            raise ValueError(
                f"opponents has {min(driven)!r}; every opponent must be a bot, as no agent acts here"
            )
        check_values(self)
        players = self.config.num_players
        if self.style_seats == 0:
            object.__setattr__(self, "style_seats", max(2, players // 5))
        whole_number("style_seats", self.style_seats, 2, players - 1)

    @property
    def parents(self) -> int:
        """How many styles of a generation stay and have descendants: the best sixth."""
        return self.population // 6


# ---- the games of a generation -------------------------------------------------------------------

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
        found = [_play_chunk(game, matchups[first : first + size]) for first in range(0, len(matchups), size)]
        return np.concatenate(found)


def _play_chunk(game: VecGame, matchups: Sequence[Matchup]) -> Floats:
    """Play as many games side by side as there are ``matchups``, of a batch of as many or more."""
    for k, matchup in enumerate(matchups):
        game.set_seats(k, matchup.seats)
    seeds = [matchup.seed for matchup in matchups]
    game.reset(seeds=seeds + [0] * (game.num_games - len(seeds)))
    for spare in range(len(matchups), game.num_games):
        game.stop_game(spare)
    while not game.state.over.all():
        game.step(repeat=DECISIONS)
    places = game.state.doubled_place[:, 1:] / 2
    return np.array([places[k, matchup.own] for k, matchup in enumerate(matchups)])


def scored(matchups: Sequence[Matchup], places: Floats, count: int) -> list[tuple[int, float]]:
    """Return, for each of ``count`` styles, its number of seats in these games and its total score.

    A seat scores 1 over its place, so that most is gained near the top: the first place is worth two second
    ones. From that the mean of the game's styles is taken: some games are harder than others.
    """
    values = 1 / places
    better = values - values.mean(axis=1, keepdims=True)
    who = np.array([matchup.styles for matchup in matchups]).ravel()
    seats, totals = np.bincount(who, minlength=count), np.bincount(who, better.ravel(), count)
    return list(zip(seats.tolist(), totals.tolist(), strict=True))


# ---- the population ------------------------------------------------------------------------------

KEPT = 0.9
"""What the seats of earlier generations count: they were played beside other styles."""


@dataclass(frozen=True)
class Candidate:
    """A style of the population, with its results.

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
        """Its score shrunk to the mean, 0: a high score of few seats is mostly luck."""
        # After 150 seats, the variance of what a seat scores over that between styles, a score counts half.
        return self.total / (self.seats + 150)

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON has."""
        return {"style": self.style.to_dict(), "seats": self.seats, "total": self.total}

    @classmethod
    def from_dict(cls, values: Any) -> Candidate:
        """Return the candidate of :meth:`to_dict`."""
        seats = finite_number("seats", values["seats"], 0)  # each of which scored between -1 and 1
        total = finite_number("total", values["total"], -seats, seats)
        return cls(Style.from_dict(values["style"]), seats, total)


class Generation(NamedTuple):
    """The results of a generation."""

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
    def create(cls, settings: EvolutionSettings) -> Evolution:
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
        """Return the players of a generation: in the first one all, then the best and their descendants."""
        if number == 1:
            return self.candidates
        best = self.candidates[: self.settings.parents]
        parents = [Candidate(one.style, one.seats * KEPT, one.total * KEPT) for one in best]
        names = (f"{self.settings.name}:{number}.{i}" for i in range(self.settings.population - len(parents)))
        return parents + [Candidate(_child(name, parents, rng)) for name in names]


def _child(name: str, parents: Sequence[Candidate], rng: np.random.Generator) -> Style:
    """Return a descendant of one or two parents, or rarely of none."""
    if rng.random() < 0.06:  # drawn at random, so that new ideas can still come
        return random_style(name, rng)
    one, other = (parents[i].style for i in rng.integers(len(parents), size=2))
    if rng.random() < 0.3:  # so often there are two parents
        one = crossed(one, other, name, rng)
    return varied(one, name, rng)
