"""``Replay``: a recorded game, stored as config, seed and launches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from territorial.config.validation import whole_number
from territorial.engine.seats import Seat
from territorial.engine.vec_game import VecGame
from territorial.game.formulas import are_allies
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_TICK
from territorial.replay.branch import open_at
from territorial.replay.frames import Frame, GiftLog, frame_of
from territorial.replay.playback import ReplayPlayer, begin, check_digest, check_end, play_to
from territorial.replay.recorded import RecordedGame


class Replay(RecordedGame):
    """A recorded game, from its first tick on; immutable.

    A :class:`Recorder` makes replays, :meth:`load` reads them. Playing one again needs no bots: their
    launches are recorded like all others. Building one checks that it could be a game; :meth:`verify`
    checks that playing it gives the game that was recorded.

    Args:
        config: rules and size; its map is the LandMask that was played.
        seed: seed of the game.
        seats: who played, one name per seat: "agent", "external" or a bot.
        names: what the seats are called.
        launches: int32 (N, 4), read-only: tick, seat 1..P, owner code of the target 0..P, 1024ths of the
            balance; in the order of ticks, then of seats. Launches that were not legal are included.
        checkpoints: digests on the way; the last one is that of the end.
        num_ticks: ticks played.
        is_over: True: the game came to its end; False: it was left before.
        map_kind: the kind of map, such as "lakes"; default None: a map of the user's own.
        terrain: what blocked cells are: "water" or "mountains"; default "water".
        library_version: the release that recorded the game; default: this one.
        obs_version: the version of observations that its agents had; default: the present one.
        starting_troops: what each seat started with, 1 to 1000000; default None: as its name says.
        changes: players that took over seats in the game, in the order of ticks; default (): nobody did.

    Raises:
        TypeError: for a value of a wrong type.
        ValueError: for a value out of range, and for launches and digests that no game can have.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=100)
        >>> game = territorial.VecGame(config, num_games=1, seats=["banker", "novice"] * 2)
        >>> replays = []
        >>> with territorial.Recorder(game, lambda k, replay: replays.append(replay)):
        ...     _ = game.reset(seed=0)
        ...     for _ in range(10):
        ...         _ = game.step()
        >>> replay = territorial.Replay.from_bytes(replays[0].to_bytes())
        >>> replay.verify()
        >>> int(replay.seek(50).state.tick[0])
        50

    """

    # ---- playing ----------------------------------------------------------------------------------

    def game(
        self,
        tick: int = 0,
        num_games: int = 1,
        *,
        seats: Mapping[int, Seat] | None = None,
        players: Mapping[str, Seat] | None = None,
        future: int | None = None,
    ) -> VecGame:
        """Return a new VecGame that stands at ``tick``, in which everybody goes on as in the recording.

        Bots decide anew up to there, and each of their launches is compared with the recording, so that they
        remember what they did. Seats that were driven from outside, such as agents, make their recorded
        launches up to ``tick`` and are driven by ``step`` from there.

        Args:
            tick: a decision point of the game, 0 to ``num_ticks``; default 0.
            num_games: games of the batch, all in the same position; default 1.
            seats: players that take over seats at ``tick``, by seat 1..P; default None: nobody does.
            players: by recorded names, those that the library does not have, such as bots in Python.
            future: the number of the ending that game 0 has, and those after it have the following ones: of
                ending i, what is drawn from ``tick`` on has the seed H(seed, 12, tick, i). Default None: the
                recorded one, so that the game ends as recorded where nobody does anything else.

        Raises:
            ValueError: for a tick that is no decision point of the game, for a living seat whose player is
                neither in the library nor named, and for seats and players that cannot be.
            DivergedError: where a player launches otherwise than recorded: it is not the one that played.

        """
        return open_at(self, tick, num_games, seats or {}, players or {}, future)

    @cached_property
    def _player(self) -> ReplayPlayer:
        return ReplayPlayer(self)

    def seek(self, tick: int) -> VecGame:
        """Return the game at ``tick``, 0 to ``num_ticks``, for a look at ``state``, ``digest`` and the like.

        It is the same VecGame every time, moved to where it is wanted: to play on, take :meth:`game`.
        Positions are kept on the way, so that going back and forth is quick. One thread at a time; a
        new ``ReplayPlayer`` is independent of this one.
        """
        return self._player.seek(tick)

    def frames(self, every: int = 10, start: int = 0, end: int | None = None) -> Iterator[Frame]:
        """Yield the game at tick ``start``, then every ``every`` ticks, and at ``end`` (None: its last)."""
        last = self.num_ticks if end is None else whole_number("end", end, 0, self.num_ticks)
        start, every = whole_number("start", start, 0, last), whole_number("every", every, 1)
        game = begin(self)
        play_to(game, self, start)
        gifts = GiftLog(game) if self.config.has_allies else None
        for tick in (*range(start, last, every), last):
            launches = self.launches_between(int(game.state.tick[0]), tick)
            if gifts is not None:
                _play_and_log(game, self, tick, gifts)
            play_to(game, self, tick)
            yield frame_of(game, 0, gifts, launches.astype(np.int64))

    def verify(self) -> None:
        """Play the game again and compare it at all checkpoints; DivergedError names the first to differ."""
        game = begin(self)
        for checkpoint in self.checkpoints:
            play_to(game, self, checkpoint.tick)
            check_digest(game, checkpoint)
        check_end(game, self)


def _play_and_log(game: VecGame, replay: Replay, tick: int, log: GiftLog) -> None:
    """Let ``log`` have the donations before ``tick``, and play the game on to the last of them."""
    team, rows = game.state.team[0], replay.launches_between(int(game.state.tick[0]), tick).astype(np.int64)
    seats, targets = rows[:, LAUNCH_SEAT], rows[:, LAUNCH_TARGET]
    rows = rows[are_allies(seats, targets, team[seats], team[targets])]
    for at in np.unique(rows[:, LAUNCH_TICK]).tolist():
        play_to(game, replay, at)
        log.before_launches()
        given = rows[rows[:, LAUNCH_TICK] == at]
        log.add(given[:, LAUNCH_SEAT], given[:, LAUNCH_TARGET], given[:, LAUNCH_FRACTION])
