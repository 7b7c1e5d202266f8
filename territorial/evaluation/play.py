"""Playing the games of a contest: what a process needs for it, and what is noted of every game."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame
from territorial.evaluation.game_loop import SIDE_BY_SIDE, GameLoop
from territorial.evaluation.players import Player, sendable
from territorial.evaluation.pool import Play, Processes
from territorial.evaluation.record import FILLED_PERCENT, LAND_EVERY, GameRecord
from territorial.evaluation.schedule import Fixture


def play_games(
    config: GameConfig,
    players: Mapping[str, Player],
    fixtures: Iterable[Fixture],
    play: Play | None = None,
) -> Iterator[GameRecord]:
    """Yield the record of every game as it ends, or as it comes from where it is played.

    Args:
        config: of the games.
        players: by the names that ``fixtures`` have; other names are those of bots.
        fixtures: the games.
        play: where they are played; default None: in this process.

    """
    chosen, games = play or Processes(1), list(fixtures)
    size = side_by_side(len(games), getattr(chosen, "workers", 1))
    portions = [tuple(games[first : first + size]) for first in range(0, len(games), size)]
    for records in chosen(ContestGames(config, sendable(players)), portions) if portions else ():
        yield from records


def side_by_side(games: int, processes: int) -> int:
    """Return how many games a process should play at once, so that all of them have as many to play.

    As few portions as SIDE_BY_SIDE allows, and the same number for every process.
    """
    rounds = -(-games // (processes * SIDE_BY_SIDE))
    return max(1, -(-games // (processes * max(1, rounds))))


@dataclass(frozen=True)
class ContestGames:
    """All that a process needs to play games of a contest; calling it makes what plays them."""

    config: GameConfig
    players: Mapping[str, Player]

    def __call__(self) -> Callable[[Sequence[Fixture]], Iterator[GameRecord]]:
        """Return a function that plays a portion and yields the record of every game as it ends."""
        loop = GameLoop(self.players)
        return lambda portion: self._play(loop, portion)

    def _play(self, loop: GameLoop, portion: Sequence[Fixture]) -> Iterator[GameRecord]:
        names, seeds = [fixture.seats for fixture in portion], [fixture.seed for fixture in portion]
        batch = loop.begin(self.config, names, seeds, apart=True)
        watch = _GameWatch(batch.game)
        for step in batch.steps():
            watch.look()
            for k in np.flatnonzero(step[-1]["ended"]).tolist():
                yield watch.record(k, portion[k])


class _GameWatch:
    """Looks at games while they are played."""

    def __init__(self, game: VecGame) -> None:
        self._game = game
        state = game.state
        self._tick, self._land, self._over = state.tick, state.land, state.over  # views, always current
        self._least = state.num_land * FILLED_PERCENT
        self.filled = np.full(game.num_games, -1, np.int64)
        self.ticks: list[int] = []
        self.looks: list[list[tuple[int, ...]]] = [[] for _ in range(game.num_games)]
        self._look_at_land()

    def look(self) -> None:
        """Note what has happened in the step just played."""
        self.filled[(self.filled < 0) & (100 * self._land[:, 0] < self._least)] = self._tick.max()
        if self._tick.max() // LAND_EVERY > self.ticks[-1] // LAND_EVERY:
            self._look_at_land()

    def _look_at_land(self) -> None:
        """Note all players' land; games in progress are all at the same tick."""
        self.ticks.append(int(self._tick.max()))
        for k in np.flatnonzero(self._over == 0):
            self.looks[k].append(tuple(self._land[k, 1:].tolist()))

    def record(self, k: int, fixture: Fixture) -> GameRecord:
        """Return the record of game ``k``, which is over."""
        state, config = self._game.state, self._game.config
        length, teams, alive = int(state.tick[k]), state.team[k], state.alive[k] != 0
        largest = int(np.bincount(teams[1:], state.land[k, 1:]).max())
        is_won = len(np.unique(teams[alive])) <= 1 or 100 * largest >= config.win_percent * int(
            state.num_land[k]
        )
        return GameRecord(
            game=fixture.number,
            seed=fixture.seed,
            seats=fixture.seats,
            places=tuple((state.place2[k, 1:] / 2).tolist()),
            died=tuple(state.death_tick[k, 1:].tolist()),
            length=length,
            is_stopped=not is_won,
            filled=int(self.filled[k]),
            num_land=int(state.num_land[k]),
            ticks=(*self.ticks[: len(self.looks[k])], length),
            land=(*self.looks[k], tuple(state.land[k, 1:].tolist())),
            teams=fixture.teams,
        )
