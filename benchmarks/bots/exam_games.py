"""Games in which a player is examined: its seats among bots, on maps and seeds that nothing learned from."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from territorial import bots
from territorial.bots import Network, Style
from territorial.cli import options
from territorial.config import GameConfig
from territorial.engine.seats import AGENT, LINEUPS, name_of
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import Acting
from territorial.evaluation.statistics import Estimate, mean_of, wilson
from territorial.files.cores import usable_cores
from territorial.typing import Bools, Floats, Ints

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


class ActingSeat(NamedTuple):
    """A policy outside the engine that decides every so many ticks, and holds in between."""

    policy: Acting
    interval: int


InEngine = str | Style | Network
Examined = InEngine | ActingSeat
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

    def above(self) -> Estimate:
        """Return the share of the opponents' seats that it is placed above; a tie is half."""
        return mean_of(self.above_by_game())

    def above_by_game(self) -> Floats:
        """Return the same of each game, (G,)."""
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
        self._threads, self._frames = threads, 0
        self._game: VecGame | None = None

    def play(self, player: Examined, field: ExamField, games: int) -> ExamGames:
        """Return how so many games ended; the same field has the same games for every player."""
        rng, count = np.random.default_rng(EXAM_SEED), field.config.num_players
        opponents = [field.opponents(count - field.own, rng) for _ in range(games)]
        order = [rng.permutation(count) for _ in range(games)]
        acting = player if isinstance(player, ActingSeat) else None
        game = self._batch(field.config, acting)
        places, ticks = np.zeros((games, count)), np.zeros(games, np.int64)
        for first in range(0, games, game.num_games):
            part = slice(first, min(games, first + game.num_games))
            numbers = range(part.start, part.stop)
            seeds = [EXAM_SEED + number for number in numbers]
            for k, number in enumerate(numbers):
                own = AGENT if isinstance(player, ActingSeat) else player
                sitting = [*[own] * field.own, *opponents[number]]
                game.set_seats(k, [sitting[i] for i in order[number]])
            _begin(game, seeds)
            if acting is not None:
                _act(game, acting, np.array([order[number] < field.own for number in numbers]))
            while not game.state.over.all():
                game.step(repeat=STEPS)
            for k, number in enumerate(numbers):
                places[number][order[number]] = game.state.place2[k, 1:] / 2
                ticks[number] = game.state.tick[k]
        return ExamGames(field, opponents, places, ticks)

    def _batch(self, config: GameConfig, acting: ActingSeat | None) -> VecGame:
        """Return games of a config, observed for a policy that acts; those of the last call are kept."""
        frames = 0 if acting is None else acting.policy.frames
        if self._game is None or (self._game.config, self._frames) != (config, frames):
            self._game = None  # before the next: both may be large
            self._frames = frames
            self._game = VecGame(
                config,
                SIDE_BY_SIDE * self._threads,
                num_threads=self._threads,
                autoreset="disabled",
                **({"frames": frames} if frames else {"observe": False}),
            )
        return self._game


def _begin(game: VecGame, seeds: list[int]) -> None:
    """Begin the first games of a batch, one for each seed; the others stand."""
    game.reset(seeds=seeds + [0] * (game.num_games - len(seeds)))
    for spare in range(len(seeds), game.num_games):
        game.stop_game(spare)


def _act(game: VecGame, acting: ActingSeat, is_own: Bools) -> None:
    """Play the first games of a batch as long as one of the policy's seats lives, which are (G, P)."""
    policy, count = acting.policy, len(is_own)
    act = policy.start(game.config, game.layout, EXAM_SEED)
    actions = np.zeros((game.num_games, game.config.num_players, 2), np.int64)
    try:
        while (living := is_own & _lives(game)[:count]).any():
            games, seats = np.nonzero(living)
            actions[:] = 0
            actions[games, seats] = act(game, games, seats + 1)
            game.step(actions, repeat=acting.interval // game.config.decision_every)
    finally:
        policy.stop()


def _lives(game: VecGame) -> Bools:
    """Return who plays on, (E, P)."""
    return np.asarray((game.state.alive[:, 1:] != 0) & (game.state.over == 0)[:, None])


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
