"""Plays a schedule of games in one process, and records each game."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from territorial._log import elapsed
from territorial.bots import Program, ProgramError, short
from territorial.bots.program import have_failed
from territorial.config import GameConfig
from territorial.engine.seats import AGENT
from territorial.engine.vec_game import VecGame, compile_steps
from territorial.evaluation.places import places_now
from territorial.evaluation.players import Act, ActingPolicy, Player, in_games, is_acting
from territorial.evaluation.progress import counted
from territorial.evaluation.record import FILLED_PERCENT, LAND_EVERY, GameRecord, GameResults, ResultsError
from territorial.evaluation.schedule import Contest, Scenario, Schedule, ScheduledGame
from territorial.evaluation.workers import Play, PlayingError, StoppedError, cause
from territorial.files.atomic import check_file
from territorial.files.locks import one_writer
from territorial.typing import Array, Bools, Floats, Ints

Result = TypeVar("Result")


def played(
    schedule: Schedule,
    summary: Callable[[tuple[GameRecord, ...]], Result],
    out: str | os.PathLike[str] | None,
    play: Play,
    *,
    progress: bool,
) -> Result:
    """Play the games of a schedule that are missing in a file, and return the summary of all of them.

    What was played is kept, whatever happens: Ctrl-C ends it early, all other errors as StoppedError. Before
    that, OSError names what is in the way of a file that cannot be written: of InUseError that is another
    process that plays into it.
    """
    if out is not None:
        check_file(out)
    with nullcontext() if out is None else one_writer(Path(f"{os.fspath(out)}.lock")):
        results = GameResults(schedule, out)
        chunks = schedule.chunks(results.games, getattr(play, "workers", 1))
        try:
            if chunks:
                for config in dict.fromkeys(schedule.scenarios[name].config for _, name in schedule.pairs):
                    VecGame(config, 1, observe=False).close()  # such as a map that has no room for all spawns
                    # Processes find compiled what is compiled here and now.
                    with elapsed("territorial: compiling the engine") if progress else nullcontext():
                        compile_steps(config)
                games = chain.from_iterable(play(games_of(schedule), chunks))
                new = results.add(games)
                if progress:
                    new = counted(new, schedule.size, len(results.records), _won_by)
                deque(new, maxlen=0)
        except KeyboardInterrupt:
            pass
        except Exception as error:  # of a player, of where it plays, or of the disk
            why = str(error) if isinstance(error, ResultsError) else cause(error)
            raise StoppedError(why, summary(results.records)) from error
        return summary(results.records)


def _won_by(record: GameRecord) -> str:
    return f"last won by {short(record.seats[int(np.argmin(record.places))])}"


class GamePlayer:
    """Plays chunks of games one after the other, with one batch in memory.

    Args:
        players: by name; all other names are those of bots.
        scenarios: by name, what the games are played in.
        apart: True: policies see one game at a time, so that it comes out the same whatever is played beside
            it, in stacks for all players. False: they see all games of a chunk together, which is faster.

    """

    def __init__(
        self, players: Mapping[str, Player], scenarios: Mapping[str, Contest | Scenario], apart: bool
    ) -> None:
        self._scenarios, self._apart = scenarios, apart
        made = {name: in_games(one) for name, one in sorted(players.items())}
        self._policies = {name: one for name, one in made.items() if is_acting(one)}
        self._seats: dict[str, Any] = {**made, **dict.fromkeys(self._policies, AGENT)}
        self._game: VecGame | None = None
        self._key: tuple[Any, ...] = ()

    def __call__(self, chunk: Sequence[ScheduledGame]) -> Iterator[GameRecord]:
        """Play the games of a chunk, and yield the record of each as it ends."""
        scenario, seeds = self._scenarios[chunk[0].scenario], [scheduled.seed for scheduled in chunk]
        names = {name for scheduled in chunk for name in scheduled.seats}
        policies = {name: policy for name, policy in self._policies.items() if name in names}
        game = self._batch(scenario.config, len(chunk), policies)
        for k, scheduled in enumerate(chunk):
            game.set_seats(k, [self._seats.get(name, name) for name in scheduled.seats])
        game.reset(seeds=seeds)
        programs = [name for name, player in self._seats.items() if isinstance(player, Program)]
        watch = _GameWatch(game, chunk, programs)
        try:
            acts = self._started(game, np.array([scheduled.seats for scheduled in chunk]), seeds, policies)
            for number in count(1):
                watch.look(game.step(_actions(game, acts) if acts else None)[1])
                watch.leave(is_late=scenario.max_cycles is not None and number >= scenario.max_cycles)
                yield from map(watch.record, watch.ended())
                if game.state.over.all():
                    return
        except ProgramError as error:  # says all there is to say
            raise PlayingError(str(error)) from None
        finally:
            for policy in policies.values():
                policy.stop()

    def _batch(self, config: GameConfig, games: int, policies: Mapping[str, ActingPolicy]) -> VecGame:
        """Return the batch, or a new one where the one before was of other games."""
        seeing = self._policies if self._apart else policies
        frames = max((one.frames for one in seeing.values()), default=None)
        key = config, games, frames
        if self._game is None or key != self._key:
            if self._game is not None:
                self._game.close()
            seen: dict[str, Any] = {"observe": False} if frames is None else {"frames": frames}
            self._game, self._key = VecGame(config, games, autoreset="disabled", **seen), key
        return self._game

    def _started(
        self, game: VecGame, who: Array, seeds: Sequence[int], policies: Mapping[str, ActingPolicy]
    ) -> list[tuple[Act, Bools]]:
        """Return the functions that choose actions, each with its seats (E, P)."""
        acts = []
        parts = [[k] for k in range(len(who))] if self._apart else [list(range(len(who)))]
        for name, policy in policies.items():
            for part in parts:
                is_seat = np.zeros(who.shape, np.bool_)
                is_seat[part] = who[part] == name
                if is_seat.any():
                    acts.append((policy.start(game.config, game.layout, seeds[part[0]]), is_seat))
        return acts


def games_of(schedule: Schedule) -> Callable[[], GamePlayer]:
    """Return a maker of players of chunks of the schedule, for any process."""
    return partial(GamePlayer, schedule.players, schedule.scenarios, schedule.apart)


def _actions(game: VecGame, acts: Sequence[tuple[Act, Bools]]) -> Ints:
    lives = (game.state.alive[:, 1:] != 0) & (game.state.over == 0)[:, None]
    actions = np.zeros((*lives.shape, 2), np.int64)
    for act, is_seat in acts:
        games, seats = np.nonzero(is_seat & lives)
        if len(games):
            actions[games, seats] = act(game, games, seats + 1)
    return actions


class _GameWatch:
    """Looks at games while they are played."""

    def __init__(self, game: VecGame, chunk: Sequence[ScheduledGame], programs: Sequence[str]) -> None:
        self._game, self._chunk, self._programs = game, chunk, programs
        state = game.state
        self._tick, self._land, self._over = state.tick, state.land, state.over  # views, always current
        self._least = state.num_land * FILLED_PERCENT
        self._filled = np.full(game.num_games, -1, np.int64)
        self._own = np.zeros((game.num_games, game.config.num_players), np.bool_)
        for k, scheduled in enumerate(chunk):
            self._own[k, np.array(scheduled.own, np.int64) - 1] = True
        self._returns: Floats = np.zeros(self._own.shape)
        self._is_going_on = np.ones(game.num_games, np.bool_)
        self._ticks: list[int] = []
        self._looks: list[list[tuple[int, ...]]] = [[] for _ in chunk]
        self._look_at_land()

    def look(self, rewards: Any) -> None:
        """Note the events of the step just played."""
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
        is_out = ~((self._game.state.doubled_place[:, 1:] == 0) & self._own).any(1)
        for k in np.flatnonzero((self._over == 0) & ((is_out & self._own.any(1)) | is_late)):
            self._game.stop_game(int(k))

    def ended(self) -> list[int]:
        """Return the games that are over since this was last asked."""
        found = np.flatnonzero(self._is_going_on & (self._over != 0))
        self._is_going_on[found] = False
        return [int(k) for k in found]

    def record(self, k: int) -> GameRecord:
        """Return the record of game ``k``, which is over."""
        state, scheduled = self._game.state, self._chunk[k]
        length, land, teams = int(state.tick[k]), tuple(state.land[k, 1:].tolist()), state.team[k]
        largest, num_land = int(np.bincount(teams[1:], land).max()), int(state.num_land[k])
        are_programs = np.isin(scheduled.seats, self._programs)
        failed = 1 + np.flatnonzero(are_programs & have_failed(state.memory[k, 1:]))
        has_enough = 100 * largest >= self._game.config.win_percent * num_land
        return GameRecord(
            **scheduled._asdict(),
            places=tuple(places_now(state, k).tolist()),
            died=tuple(state.death_tick[k, 1:].tolist()),
            length=length,
            is_stopped=not has_enough and len(np.unique(teams[1:][state.alive[k, 1:] != 0])) > 1,
            filled=int(self._filled[k]),
            num_land=num_land,
            ticks=(*self._ticks[: len(self._looks[k])], length),
            land=(*self._looks[k], land),
            returns=tuple(np.round(self._returns[k], 6).tolist()) if scheduled.own else (),
            failed=tuple(failed.tolist()),
        )
