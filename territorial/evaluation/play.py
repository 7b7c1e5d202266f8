"""Playing a schedule: what a process needs for it, what is noted of every game, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from territorial.bots import short
from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame, compile_steps
from territorial.evaluation.game_loop import GameLoop
from territorial.evaluation.outcome import places_now
from territorial.evaluation.players import Player, sendable
from territorial.evaluation.pool import Play, PlayingError, Processes, cause
from territorial.evaluation.progress import Progress
from territorial.evaluation.record import FILLED_PERCENT, LAND_EVERY, GameRecord
from territorial.evaluation.results import GameResults, ResultsError, playing_into
from territorial.evaluation.schedule import Contest, Fixture, Schedule
from territorial.evaluation.setting import Setting
from territorial.jit import warmup
from territorial.typing import Floats

Result = TypeVar("Result")


class StoppedError(PlayingError):
    """Something went wrong while games were played; ``result`` has those that were finished before.

    It is the ``Ranking`` or the ``Evaluation`` of these games.
    """

    def __init__(self, why: str, result: Any) -> None:
        super().__init__(why)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.result)


def played(
    schedule: Schedule,
    summary: Callable[[tuple[GameRecord, ...]], Result],
    out: str | os.PathLike[str] | None,
    play: Play,
    *,
    progress: bool,
) -> Result:
    """Play the games of a schedule that are missing in a file, and return the summary of all of them.

    What was played is kept, whatever happens: Ctrl-C ends it early, all other errors as StoppedError.
    """
    with playing_into(out):
        results = GameResults(schedule, out)
        portions = schedule.portions(results.keys, getattr(play, "workers", 1))
        try:
            if portions:
                _prepare(schedule, progress)
                games = chain.from_iterable(play(Games.of(schedule), portions))
                _keep(results, games, progress)
        except KeyboardInterrupt:
            pass
        except Exception as error:  # of a player, of where it plays, or of the disk
            is_known = isinstance(error, (PlayingError, ResultsError))
            why = str(error) if is_known else cause(error)
            raise StoppedError(why, summary(results.records)) from error
        return summary(results.records)


def _prepare(schedule: Schedule, progress: bool) -> None:
    """Compile here and now what all processes then find compiled, and see that the games can be set up."""
    for config in dict.fromkeys(schedule.settings[name].config for _, name in schedule.pairs):
        VecGame(config, 1, observe=False).close()  # such as a map that has no room for all spawns
        with warmup.progress("territorial: compiling the engine") if progress else nullcontext():
            compile_steps(config)


def _keep(results: GameResults, games: Iterable[GameRecord], progress: bool) -> None:
    before = len(results.records)
    told = Progress(results.schedule.size, before, sys.stderr) if progress else None
    try:
        for done, record in enumerate(results.add(games), start=before + 1):
            if told is not None:
                told.show(done, f"last won by {short(record.seats[int(np.argmin(record.places))])}")
    finally:
        if told is not None:
            told.close()


def play_games(schedule: Schedule, play: Play | None = None) -> Iterator[GameRecord]:
    """Yield the record of every game as it ends, or as it comes from where it is played."""
    where = play or Processes(1)
    portions = schedule.portions(processes=getattr(where, "workers", 1))
    return chain.from_iterable(where(Games.of(schedule), portions))


@dataclass(frozen=True)
class Games:
    """All that a process needs to play games of a schedule; calling it makes what plays them."""

    players: Mapping[str, Player]
    settings: Mapping[str, Contest | Setting]
    apart: bool

    @classmethod
    def of(cls, schedule: Schedule) -> Games:
        """Return what plays the games of a schedule in any process."""
        return cls(sendable(schedule.players), schedule.settings, schedule.apart)

    def __call__(self) -> Callable[[Sequence[Fixture]], Iterator[GameRecord]]:
        """Return a function that plays a portion and yields the record of every game as it ends."""
        loop = GameLoop(self.players)
        return lambda portion: self._play(loop, portion)

    def _play(self, loop: GameLoop, portion: Sequence[Fixture]) -> Iterator[GameRecord]:
        setting = self.settings[portion[0].setting]
        names, seeds = [fixture.seats for fixture in portion], [fixture.seed for fixture in portion]
        batch = loop.begin(setting.config, names, seeds, apart=self.apart)
        watch = _GameWatch(batch.game, portion)
        for number, step in enumerate(batch.steps(), start=1):
            watch.look(step[1])
            watch.leave(is_late=setting.max_cycles is not None and number >= setting.max_cycles)
            yield from map(watch.record, watch.ended())


class _GameWatch:
    """Looks at games while they are played."""

    def __init__(self, game: VecGame, portion: Sequence[Fixture]) -> None:
        self._game, self._portion = game, portion
        state = game.state
        self._tick, self._land, self._over = state.tick, state.land, state.over  # views, always current
        self._least = state.num_land * FILLED_PERCENT
        self._filled = np.full(game.num_games, -1, np.int64)
        self._own = np.zeros((game.num_games, game.config.num_players), np.bool_)
        for k, fixture in enumerate(portion):
            self._own[k, np.array(fixture.own, np.int64) - 1] = True
        self._returns: Floats = np.zeros(self._own.shape)
        self._is_going_on = np.ones(game.num_games, np.bool_)
        self._ticks: list[int] = []
        self._looks: list[list[tuple[int, ...]]] = [[] for _ in portion]
        self._look_at_land()

    def look(self, rewards: Any) -> None:
        """Note what has happened in the step just played."""
        self._returns += rewards
        self._filled[(self._filled < 0) & (100 * self._land[:, 0] < self._least)] = self._tick.max()
        if self._tick.max() // LAND_EVERY > self._ticks[-1] // LAND_EVERY:
            self._look_at_land()

    def _look_at_land(self) -> None:
        """Note all players' land, in a match; games in progress are all at the same tick."""
        self._ticks.append(int(self._tick.max()))
        for k in np.flatnonzero((self._over == 0) & ~self._own.any(1)):
            self._looks[k].append(tuple(self._land[k, 1:].tolist()))

    def leave(self, *, is_late: bool) -> None:
        """Leave the games in which nothing more is to be learned of the policy, or which take too long."""
        # The engine's end_when="no_agents" cannot: the policy may be a bot of the engine, and agents may be
        # other policies.
        is_out = ~((self._game.state.place2[:, 1:] == 0) & self._own).any(1)
        for k in np.flatnonzero((self._over == 0) & ((is_out & self._own.any(1)) | is_late)):
            self._game.stop_game(int(k))

    def ended(self) -> list[int]:
        """Return the games that are over since this was last asked."""
        found = np.flatnonzero(self._is_going_on & (self._over != 0))
        self._is_going_on[found] = False
        return [int(k) for k in found]

    def record(self, k: int) -> GameRecord:
        """Return the record of game ``k``, which is over."""
        state, config, fixture = self._game.state, self._game.config, self._portion[k]
        length, land = int(state.tick[k]), tuple(state.land[k, 1:].tolist())
        return GameRecord(
            **fixture._asdict(),
            places=tuple(places_now(state, k).tolist()),
            died=tuple(state.death_tick[k, 1:].tolist()),
            length=length,
            is_stopped=not _is_won(self._game, k, config),
            filled=int(self._filled[k]),
            num_land=int(state.num_land[k]),
            ticks=(*self._ticks[: len(self._looks[k])], length),
            land=(*self._looks[k], land),
            returns=tuple(np.round(self._returns[k], 6).tolist()) if fixture.own else (),
        )


def _is_won(game: VecGame, k: int, config: GameConfig) -> bool:
    """Return whether only one team lives in game ``k``, or has the land that a victory takes."""
    state = game.state
    teams, alive = state.team[k], state.alive[k] != 0
    largest = int(np.bincount(teams[1:], state.land[k, 1:]).max())
    has_enough = 100 * largest >= config.win_percent * int(state.num_land[k])
    return has_enough or len(np.unique(teams[alive])) <= 1
