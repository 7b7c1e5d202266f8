"""Evaluation games: the seats, maps and seeds of an examined player."""

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from territorial import bots
from territorial.bots import Network, Style
from territorial.cli import options
from territorial.config import GameConfig
from territorial.engine.seats import LINEUPS, name_of
from territorial.engine.vec_game import VecGame
from territorial.evaluation.intervals import Estimate, mean_of, wilson
from territorial.files.cores import usable_cores
from territorial.typing import Floats, Ints

EXAM_MAPS = {"map_seed": 2**21, "num_maps": 64}
EXAM_SEED = 10**9
FULL = GameConfig(**EXAM_MAPS)
SMALL = GameConfig(height=96, width=96, num_players=12, **EXAM_MAPS)
DECISIONS = (10, 50)
"""Ticks from one decision of a bot to the next."""
OWN = 2
"""Seats of the player examined."""
SIDE_BY_SIDE = 16
"""Games that a thread plays at once."""
STEPS = 20
"""Of a call of the engine."""
LINEUP = "mixed-2"
"""The opponents of games at full size."""


InEngine = str | Style | Network
Opponents = Callable[[int, np.random.Generator], Sequence[InEngine]]
"""Returns so many opponents."""


class ExamField(NamedTuple):
    """Who meets whom: ``own`` seats of the player examined, and opponents in all others."""

    config: GameConfig
    own: int
    opponents: Opponents


class ExamGames(NamedTuple):
    """How G games of a field with P seats ended; the seats of the player examined come first."""

    field: ExamField
    opponents: list[Sequence[InEngine]]
    places: Floats  # (G, P)
    ticks: Ints  # (G,)

    @property
    def own(self) -> Floats:
        """Places of the player examined, (G, own)."""
        return self.places[:, : self.field.own]

    def place(self) -> Estimate:
        """Return its mean place."""
        return mean_of(self.own.mean(axis=1))

    def fair(self) -> Estimate:
        """Return the share of games it won, as a multiple of its share of the seats."""
        share = self.field.own / self.field.config.num_players
        won = wilson(float((self.own == 1).any(axis=1).mean()), len(self.own))
        return Estimate(*(value / share for value in won))

    def above(self) -> Floats:
        """Return in what share of the opponents' seats it is placed above, by game, (G,); a tie is half."""
        others = self.places[:, None, self.field.own :]
        wins, ties = others > self.own[:, :, None], others == self.own[:, :, None]
        return np.asarray((wins + 0.5 * ties).mean(axis=(1, 2)))

    def undecided(self) -> float:
        """Return the share of games that the last tick ended."""
        return float((self.ticks >= self.field.config.max_ticks).mean())

    def ranking(self, name: str) -> dict[str, Estimate]:
        """Return the mean place of every player, the best first; the player examined is called ``name``."""
        found: dict[str, list[float]] = {name: self.own.mean(axis=1).tolist()}
        for opponents, places in zip(self.opponents, self.places[:, self.field.own :], strict=True):
            for one in set(opponents):
                mine = [place for who, place in zip(opponents, places, strict=True) if who == one]
                found.setdefault(name_of(one), []).append(float(np.mean(mine)))
        means = {one: mean_of(np.array(places)) for one, places in found.items()}
        return dict(sorted(means.items(), key=lambda item: item[1].value))


class Examiner:
    """Plays games of fields on so many threads, on which no result depends."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._game: VecGame | None = None

    def play(self, player: InEngine, field: ExamField, games: int) -> ExamGames:
        """Return how so many games ended; the same field has the same games for every player."""
        rng, count = np.random.default_rng(EXAM_SEED), field.config.num_players
        opponents = [field.opponents(count - field.own, rng) for _ in range(games)]
        order = [rng.permutation(count) for _ in range(games)]
        game = self._batch(field.config)
        places, ticks = np.zeros((games, count)), np.zeros(games, np.int64)
        for first in range(0, games, game.num_games):
            numbers = range(first, min(games, first + game.num_games))
            for k, number in enumerate(numbers):
                sitting = [*[player] * field.own, *opponents[number]]
                game.set_seats(k, [sitting[i] for i in order[number]])
            spare = range(len(numbers), game.num_games)
            game.reset(seeds=[EXAM_SEED + number for number in numbers] + [0] * len(spare))
            for k in spare:
                game.stop_game(k)
            while not game.state.over.all():
                game.step(repeat=STEPS)
            for k, number in enumerate(numbers):
                places[number][order[number]] = game.state.doubled_place[k, 1:] / 2
                ticks[number] = game.state.tick[k]
        return ExamGames(field, opponents, places, ticks)

    def _batch(self, config: GameConfig) -> VecGame:
        """Return games of a config; those of the last call are kept."""
        if self._game is None or self._game.config != config:
            self._game = None  # before the next: both may be large
            self._game = VecGame(
                config,
                SIDE_BY_SIDE * self._threads,
                num_threads=self._threads,
                autoreset="disabled",
                observe=False,
            )
        return self._game


def lineup(name: str) -> Opponents:
    """Return opponents that are drawn from a line-up, none of its seats twice."""
    seats = LINEUPS[name].seats
    return lambda count, rng: [seats[i] for i in rng.permutation(len(seats))[:count]]


def dealt(count: int, rng: np.random.Generator) -> list[str]:
    """Return so many of all bots, each drawn by itself."""
    return [bots.NAMES[i] for i in rng.integers(len(bots.NAMES), size=count)]


def all_of(bot: InEngine) -> Opponents:
    """Return opponents that are all the same bot."""
    return lambda count, _: [bot] * count


def add_options(parser: argparse.ArgumentParser, games: int, meaning: str) -> None:
    """Add ``--games`` and ``--threads``; ``meaning``: which games there are so many of."""
    parser.add_argument(
        "--games",
        type=options.whole(10, 100_000),
        default=games,
        help=f"games to play; {meaning} (default %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=options.whole(1, 1024),
        default=usable_cores(),
        help="threads that step the games; no result depends on it (default %(default)s)",
    )
