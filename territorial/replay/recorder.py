"""``Recorder``: makes replays of the games of a batch."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.map_names import Terrain
from territorial.config.validation import check_type, whole_number
from territorial.engine.recording import LOG_STEPS, GameObserver, last_position
from territorial.engine.seats import shown_names, starting_troops
from territorial.engine.vec_game import VecGame
from territorial.files.atomic import check_folder, own_folder
from territorial.game.scratch import LAUNCH_SEAT, LAUNCH_TICK
from territorial.game.state import digest, view
from territorial.replay.file_format import Checkpoint, ReplayError
from territorial.replay.frames import map_kind_of
from territorial.replay.recorded import SUFFIX, Change, checked_names
from territorial.replay.replay import Replay

CHECKPOINT_EVERY = 5_000
"""Ticks from one digest to the next; one costs as much as ten steps of a game."""
DRAIN_EVERY = LOG_STEPS // 2
"""Steps from one look at the logs to the next: what is more than half full is emptied."""

Names = Sequence[str] | Callable[[int], Sequence[str]]
Destination = str | os.PathLike[str] | Callable[[int, Replay], Any]


@dataclass
class _Recording:
    """The recording of the game in a slot of the batch."""

    seed: int
    episode: int
    seats: tuple[str, ...]
    names: tuple[str, ...]
    starting_troops: tuple[int, ...] | None
    land: LandMask
    terrain: Terrain
    map_kind: str | None
    next_checkpoint: int
    pieces: list[npt.NDArray[np.int32]] = field(default_factory=list)
    """Launches (n, 4), those of the log not among them."""
    checkpoints: list[Checkpoint] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    replay: Replay | None = None
    """Once the game is over."""


class Recorder(GameObserver):
    """Records the games of a batch while they are played, by ``step``, ``tick`` or ``play``.

    Every game that is played gives one replay: when it is over, or when it is left before its end, as a new
    one takes its place or the recorder is closed. ``is_over`` is False then. A game that
    ``set_position`` or ``restore`` put elsewhere does not follow from its seed any more and gives none.
    What is written into ``state`` by hand goes unnoticed; ``Replay.verify`` finds out.

    What it costs is a digest every ``checkpoint_every`` ticks and at the end of a game, and packing the
    replay; what the kernels log is next to nothing. Works as a context manager. Copies of the batch are not
    recorded.

    Args:
        game: the batch; of a PettingZoo environment it is ``env.game``. Games at tick 0, and all that begin
            later, are recorded.
        to: a folder that gets one file per replay, named by seed and digest. Or a function, called with the
            number of the game in the batch and the replay. If it fails, the error is raised by the call that
            ended the game, and the replay is given again with the next one. Default None: only ``replay``
            gives them.
        games: which games of the batch; default None: all.
        names: what the seats are called in the replays. Or a function of k that returns it when game k
            begins, such as for opponents that a league has drawn. Default None: bots have their names, agents
            are ``player_i``.
        checkpoint_every: ticks from one digest to the next; the last digest is always that of the end; at
            least 1, default 5000.
        before: the replay that the games go on from, as ``Replay.game`` gives them. They are recorded from
            tick 0 on, with the players that took over. Default None: games are recorded from their beginning.

    Raises:
        ValueError: if the batch has a recorder already, and for a value out of range.
        ReplayError: for games that do not stand where ``before`` stood at their tick, and for those with
            another future, which no replay can tell.
        OSError: for a folder that cannot be written.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=200)
        >>> game = territorial.VecGame(config, num_games=1, seats=["banker", "novice"] * 2)
        >>> replays = []
        >>> with territorial.Recorder(game, lambda k, replay: replays.append(replay)):
        ...     _ = game.reset(seed=0)
        ...     for _ in range(20):
        ...         _ = game.step()
        >>> replays[0].num_ticks
        200

    """

    def __init__(
        self,
        game: VecGame,
        to: Destination | None = None,
        *,
        games: Iterable[int] | None = None,
        names: Names | None = None,
        checkpoint_every: int = CHECKPOINT_EVERY,
        before: Replay | None = None,
    ) -> None:
        self._game, self._to = game, to if to is None or callable(to) else Path(to)
        players = game.config.num_players
        self._names = names if names is None or callable(names) else checked_names("names", names, players)
        self._every = whole_number("checkpoint_every", checkpoint_every, 1)
        recorded = np.full(game.num_games, games is None)
        for k in games or ():
            recorded[whole_number("one of games", k, 0, game.num_games - 1)] = True
        if isinstance(self._to, Path):
            check_folder(own_folder(self._to))  # now rather than when the first game is over
        self._recordings: dict[int, _Recording | None] = dict.fromkeys(np.flatnonzero(recorded).tolist())
        self._finished: deque[tuple[int, Replay]] = deque()
        self._last_config: GameConfig | None = None  # the batch's, with the one map of a game
        self._results, self._launch_log = game.attach(self, recorded)
        # Views, always current, as looking them up by name takes longer than all else in a step.
        names = ("tick", "episode", "seed", "seats")
        self._ticks, self._episodes, self._seeds, self._codes = (view(game.blocks, name) for name in names)
        self._shown: dict[bytes, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._steps_to_drain = DRAIN_EVERY
        self._steps_to_checkpoint = 1
        if before is not None:
            try:
                for k in self._recordings:
                    self._go_on(k, before)
            except BaseException:
                game.detach()
                raise
        elif game.is_started:
            self.after_reset(self._recordings)

    def replay(self, k: int = 0) -> Replay:
        """Return the replay of game ``k`` as far as it has been played; ReplayError if it is not recorded."""
        if k not in self._recordings:
            listed, more = sorted(self._recordings)[:10], " ..." if len(self._recordings) > 10 else ""
            raise ReplayError(
                f"game {k!r} is not recorded: this recorder has {', '.join(map(str, listed)) or 'none'}{more}"
            )
        recording = self._recordings[k]
        if recording is not None and recording.replay is not None:
            return recording.replay
        recording = self._drained(k)
        if recording is None:
            raise ReplayError(
                f"game {k} is not recorded from its beginning: its position was set, it began "
                "before the recorder was made, or a step was interrupted. The next game will be "
                "recorded"
            )
        return self._replay_of(recording, int(self._ticks[k]), self._game.digest(k), is_over=False)

    def close(self) -> None:
        """Give out the replays of games that are not over, and record nothing more."""
        try:
            self.before_reset(self._recordings)
        finally:
            self._recordings = {}
            self._game.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what the batch tells ---------------------------------------------------------------------

    def before_reset(self, games: Iterable[int]) -> None:
        """These games are about to be replaced: the played ones are handed out as they stand."""
        for k in sorted(self._recordings.keys() & set(games)):
            recording, tick = self._drained(k), int(self._ticks[k])
            if recording is not None and tick > 0:
                self._finish(k, recording, tick, self._game.digest(k), is_over=False)
        self._give_out()

    def after_reset(self, games: Iterable[int]) -> None:
        """These games have just begun."""
        for k in sorted(self._recordings.keys() & set(games)):
            self._begin(k)
        self._take_checkpoints()

    def after_step(self) -> None:
        """A step was played: nearly always there is nothing to do."""
        self._steps_to_drain -= 1
        if self._steps_to_drain == 0:
            # Empty the logs that could be full before the next look: a step adds at most one launch per seat.
            if max(self._launch_log.counts.tolist(), default=0) > self._launch_log.launches.shape[1] // 2:
                for k in self._recordings:
                    self._drained(k)
            self._steps_to_drain = DRAIN_EVERY
        results = self._results
        has_ends = np.count_nonzero(results.is_over) or np.count_nonzero(results.was_reset)
        if has_ends:
            self._finish_ended()
        self._steps_to_checkpoint -= 1
        if self._steps_to_checkpoint == 0:
            self._take_checkpoints()
        if has_ends:
            self._give_out()

    def after_play(self, k: int, launches: npt.NDArray[np.int64]) -> None:
        """Game ``k`` played ticks with ``launches``."""
        recording = self._drained(k)
        if recording is None:
            return
        # A player's launches change only what is the player's own: their order among seats means nothing.
        by_seat = launches[np.lexsort((launches[:, LAUNCH_SEAT], launches[:, LAUNCH_TICK]))]
        recording.pieces.append(by_seat.astype(np.int32))
        self._take_checkpoint(k, recording)
        if self._game.state.over[k]:
            self._finish(k, recording, int(self._ticks[k]), self._game.digest(k), is_over=True)
            self._give_out()

    def after_seating(self, k: int) -> None:
        """Other players go on with game ``k``."""
        recording = self._recordings.get(k)
        if recording is not None and recording.replay is None:
            self._note_changes(k, recording)

    def after_placing(self, k: int) -> None:
        """Game ``k`` no longer follows from its seed and the launches."""
        if k in self._recordings:
            self._recordings[k] = None

    # ---- within -----------------------------------------------------------------------------------

    def _begin(self, k: int) -> None:
        """Record game ``k`` if it is at its first tick."""
        self._launch_log.counts[self._launch_log.slots[k]] = 0
        self._recordings[k] = None
        if self._ticks[k] == 0 and view(self._game.blocks, "future")[k] == self._seeds[k]:
            seats, names = self._seats_and_names(k)
            self._recordings[k] = _Recording(
                seed=int(self._seeds[k]),
                episode=int(self._episodes[k]),
                seats=seats,
                names=names,
                starting_troops=self._starting_troops(k, seats),
                land=self._game.land(k),
                terrain=self._game.terrain_name(k),
                map_kind=map_kind_of(self._game.config),
                next_checkpoint=self._every,
            )

    def _go_on(self, k: int, before: Replay) -> None:
        """Record game ``k``, which went on from ``before``, as one game from tick 0 on."""
        self._game.need_reset()
        tick, future = int(self._ticks[k]), int(view(self._game.blocks, "future")[k])
        check_type("before", before, Replay, "a Replay, or None")
        if before.seed != future:
            raise ReplayError(
                f"game {k} has the future {future}, and the game before it the seed {before.seed}; no replay "
                "can be made of a game with another future"
            )
        if tick > before.num_ticks or before.seek(tick).digest(0) != self._game.digest(k):
            raise ReplayError(f"game {k} does not stand where the game before it stood at tick {tick}")
        recording = self._recordings[k] = _Recording(
            seed=before.seed,
            episode=int(self._episodes[k]),
            seats=before.seats,
            names=before.names if self._names is None else self._seats_and_names(k)[1],
            starting_troops=before.starting_troops,
            land=self._game.land(k),
            terrain=before.terrain,
            map_kind=before.map_kind,
            next_checkpoint=(tick // self._every + 1) * self._every,
            pieces=[before.launches_between(0, tick)],
            checkpoints=[one for one in before.checkpoints if one.tick <= tick],
            changes=[one for one in before.changes if one.tick <= tick],
        )
        self._note_changes(k, recording)

    def _note_changes(self, k: int, recording: _Recording) -> None:
        """Note the living players of game ``k`` that are other ones than those that are recorded."""
        tick, alive = int(self._ticks[k]), view(self._game.blocks, "alive")[k]
        known = dict(enumerate(recording.seats, start=1))
        known |= {change.seat: change.name for change in recording.changes}
        players, shown = self._seats_and_names(k)
        names = list(recording.names)
        for seat, name in enumerate(players, start=1):
            if alive[seat] and known[seat] != name:
                recording.changes.append(Change(tick, seat, name))
                names[seat - 1] = shown[seat - 1]
        recording.names = tuple(names)

    def _seats_and_names(self, k: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the seats of game ``k`` and their names; most games have the same seats."""
        codes = self._codes[k].tobytes()
        if codes not in self._shown:
            seats = self._game.seats_of(k)
            self._shown[codes] = seats, shown_names(seats)
        seats, names = self._shown[codes]
        if callable(self._names):
            return seats, checked_names("names", self._names(k), len(seats))
        return seats, self._names or names

    def _starting_troops(self, k: int, seats: tuple[str, ...]) -> tuple[int, ...] | None:
        """Return the starting troops of game ``k``, at its first tick; None: as the seats' names say."""
        if not self._game.config.handicap:
            return None
        found = view(self._game.blocks, "troops")[k, 1:].tolist()
        return None if found == starting_troops(seats, self._game.config).tolist() else tuple(found)

    def _drained(self, k: int, *, is_replaced: bool = False) -> _Recording | None:
        """Move the log of game ``k`` to its recording and return that; None if it is over or not recorded.

        Where Ctrl-C came in between a step and the recorder, the game may have been replaced, or its log
        have run over: such a game is dropped.
        """
        recording, slot = self._recordings.get(k), self._launch_log.slots[k]
        if recording is None or recording.replay is not None:
            return None
        count = int(self._launch_log.counts[slot])
        is_same = int(self._episodes[k]) - is_replaced == recording.episode
        if not is_same or count > self._launch_log.launches.shape[1]:
            self._recordings[k] = None
            return None
        if count > 0:
            recording.pieces.append(self._launch_log.launches[slot, :count].copy())
            self._launch_log.counts[slot] = 0
        return recording

    def _take_checkpoints(self) -> None:
        """Take the digests that are due, and work out after how many steps the next can be."""
        next_ones = [
            self._take_checkpoint(k, recording)
            for k, recording in self._recordings.items()
            if recording is not None
        ]
        ticks = min([self._every, *next_ones])
        self._steps_to_checkpoint = max(1, -(-ticks // self._game.config.decision_every))

    def _take_checkpoint(self, k: int, recording: _Recording) -> int:
        """Take the digest of game ``k`` if it is due; return the ticks from now to the next."""
        tick = int(self._ticks[k])
        if tick >= recording.next_checkpoint and recording.replay is None:
            recording.checkpoints.append(Checkpoint(tick, self._game.digest(k)))
            recording.next_checkpoint = (tick // self._every + 1) * self._every
        return recording.next_checkpoint - tick if recording.replay is None else self._every

    def _finish_ended(self) -> None:
        """Hand out games that ended or were replaced in this step, and begin the next ones."""
        results = self._results
        for k in np.flatnonzero(results.is_over | results.was_reset).tolist():
            recording = self._drained(k, is_replaced=bool(results.was_reset[k]))
            if recording is not None:
                last = digest(recording.seed, last_position(self._launch_log, k))
                self._finish(k, recording, int(results.final_length[k]), last, is_over=bool(results.ended[k]))
            if k in self._recordings and results.was_reset[k]:
                self._begin(k)

    def _finish(self, k: int, recording: _Recording, tick: int, last: bytes, *, is_over: bool) -> None:
        """Make the replay of a game that is over, or left, at ``tick``; it is still to be given out."""
        recording.replay = self._replay_of(recording, tick, last, is_over=is_over)
        recording.pieces.clear()
        if self._to is not None:
            self._finished.append((k, recording.replay))

    def _give_out(self) -> None:
        """Write finished replays into the folder, or hand them over; failed ones stay in line."""
        while self._finished:
            k, replay = self._finished[0]
            if isinstance(self._to, Path):
                replay.save(self._to / f"{replay.seed:016x}-{replay.digest.hex()}{SUFFIX}")
            elif self._to is not None:
                self._to(k, replay)
            self._finished.popleft()

    def _replay_of(self, recording: _Recording, tick: int, last: bytes, *, is_over: bool) -> Replay:
        """Return the replay of a game that stands at ``tick``, where its digest is ``last``."""
        on_the_way = [checkpoint for checkpoint in recording.checkpoints if checkpoint.tick < tick]
        if self._last_config is None or self._last_config.map is not recording.land:
            self._last_config = self._game.config.replace(map=recording.land, num_maps=1)
        return Replay(
            config=self._last_config,
            map_kind=recording.map_kind,
            terrain=recording.terrain,
            seed=recording.seed,
            seats=recording.seats,
            names=recording.names,
            starting_troops=recording.starting_troops,
            launches=np.concatenate([np.zeros((0, 4), np.int32), *recording.pieces]),
            changes=tuple(recording.changes),
            checkpoints=(*on_the_way, Checkpoint(tick, last)),
            num_ticks=tick,
            is_over=is_over,
        )
