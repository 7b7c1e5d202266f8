"""Playing the games of a contest: side by side in one process, or on all cores."""

from __future__ import annotations

import multiprocessing
import signal
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import Entrants
from territorial.evaluation.policies import MakePolicies
from territorial.evaluation.record import FILLED_PERCENT, LAND_EVERY, GameRecord
from territorial.evaluation.schedule import Fixture

SIDE_BY_SIDE = 16
"""Games that a process plays at once, at most: their memory still fits into the caches."""

LIBRARIES = (Path(__file__).parents[1], *map(Path, map(sysconfig.get_path, ("stdlib", "purelib"))))
"""Where the code is that no user wrote."""


def side_by_side(games: int, processes: int) -> int:
    """Return how many games a process should play at once, so that all of them have as many to play.

    As few portions as SIDE_BY_SIDE allows, and the same number for every process.
    """
    rounds = -(-games // (processes * SIDE_BY_SIDE))
    return max(1, -(-games // (processes * rounds)))


class PlayingError(RuntimeError):
    """Games could not be played to their ends by a process; the message is one line on why."""


def play_games(
    config: GameConfig,
    players: Sequence[str],
    fixtures: Iterable[Fixture],
    make_policies: MakePolicies | None = None,
) -> Iterator[GameRecord]:
    """Yield the record of every game as it ends, in this process; players as in :class:`Entrants`."""
    table = _GameBatch(config, Entrants(config, players, make_policies))
    for portion in _portions(fixtures, SIDE_BY_SIDE):
        yield from table.play(portion)


def play_on_all_cores(
    config: GameConfig,
    players: Sequence[str],
    fixtures: Iterable[Fixture],
    processes: int,
    make_policies: MakePolicies | None = None,
    portion: int = SIDE_BY_SIDE,
) -> Iterator[GameRecord]:
    """Yield the record of every game as it ends, played by ``processes`` processes.

    Each plays ``portion`` games at once. They end with the iterator. PlayingError, with what is known of it,
    if one of them fails.
    """
    waiting = _portions(fixtures, portion)
    arguments = config, tuple(players), make_policies
    workers = dict(_start(arguments) for _ in range(processes))
    try:
        busy = {end for end, worker in workers.items() if _hand_out(end, worker, waiting)}
        while busy:
            for end in wait(list(busy)):
                message = _received(end, workers[end])
                if message is not None:
                    yield message
                elif not _hand_out(end, workers[end], waiting):
                    busy.discard(end)
    finally:
        for worker in workers.values():
            worker.terminate()
        for worker in workers.values():
            worker.join()


def _portions(fixtures: Iterable[Fixture], size: int) -> Iterator[list[Fixture]]:
    """Yield the games in portions of ``size``; the last may have fewer."""
    waiting = iter(fixtures)
    return iter(lambda: list(islice(waiting, size)), [])


def _start(field: tuple[Any, ...]) -> tuple[Any, Any]:
    """Start a process that plays ``Entrants`` of these arguments; return our end of its pipe, and it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_work, args=(field, theirs), daemon=True)
    worker.start()
    theirs.close()  # so that the pipe ends with the process
    return ours, worker


def _hand_out(end: Any, worker: Any, waiting: Iterator[list[Fixture]]) -> bool:
    """Send the next portion of games; return False if there are no more."""
    portion = next(waiting, None)
    if portion is not None:
        try:
            end.send(portion)
        except OSError:
            raise _ended(worker) from None
    return portion is not None


def _received(end: Any, worker: Any) -> GameRecord | None:
    """Return the record that a process has sent, or None if it has finished its portion."""
    try:
        message = end.recv()
    except (EOFError, OSError):
        raise _ended(worker) from None
    if isinstance(message, str):
        raise PlayingError(message)
    return cast("GameRecord | None", message)


def _ended(worker: Any) -> PlayingError:
    """Return what is to be said about a process that has ended without a word."""
    worker.join()
    if worker.exitcode >= 0:
        return PlayingError(f"a worker process ended with exit code {worker.exitcode}")
    name = signal.Signals(-worker.exitcode).name
    why = ", which the system sends when memory runs out" if name == "SIGKILL" else ""
    return PlayingError(f"a worker process was ended by {name}{why}")


def cause(error: Exception) -> str:
    """Return what went wrong in one line, with the place: the last that is no library's, if there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not any(map(Path(frame.filename).is_relative_to, LIBRARIES))]
    place = (own or frames)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno}, in {place.name})"


def _work(field: tuple[Any, ...], end: Any) -> None:
    """Play what comes through the pipe until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    try:
        table = _GameBatch(field[0], Entrants(*field))
        while True:
            for record in table.play(end.recv()):
                end.send(record)
            end.send(None)
    except (EOFError, BrokenPipeError, ConnectionResetError):  # the parent is gone
        return
    except Exception as error:
        end.send(cause(error))


class _GameBatch:
    """A batch of games that is used again and again."""

    def __init__(self, config: GameConfig, field: Entrants) -> None:
        self._config, self._field = config, field
        self._batches: dict[int, VecGame] = {}

    def play(self, fixtures: Sequence[Fixture]) -> Iterator[GameRecord]:
        """Yield the records of these games as they end."""
        game = self._batch(len(fixtures))
        for k, fixture in enumerate(fixtures):
            game.set_seats(k, self._field.seats(fixture.seats))
        game.reset(seeds=[fixture.seed for fixture in fixtures])
        watch = _GameWatch(game)
        who = [self._field.snapshots(fixture.seats) for fixture in fixtures]
        while not game.state.over.all():
            ended = game.step(self._actions(game, who))[-1]["ended"]
            watch.look()
            if ended.any():
                for k in np.flatnonzero(ended).tolist():
                    yield watch.record(k, fixtures[k])

    def _actions(self, game: VecGame, who: Sequence[Sequence[str | None]]) -> npt.NDArray[np.int64] | None:
        policies = self._field.policies
        return None if policies is None else policies.choose(game, who)

    def _batch(self, num_games: int) -> VecGame:
        if num_games not in self._batches:
            policies = self._field.policies
            sight: dict[str, Any] = (
                {"observe": False} if policies is None else {"observe": True, "frames": policies.frames}
            )
            self._batches[num_games] = VecGame(self._config, num_games, autoreset="disabled", **sight)
        return self._batches[num_games]


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
        length, living = int(state.tick[k]), int(state.alive[k].sum())
        is_won = living <= 1 or 100 * int(state.land[k, 1:].max()) >= config.win_percent * int(
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
        )
