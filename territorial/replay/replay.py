"""``Replay``: a recorded game, played again to any tick, back and forth, and on from there."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from territorial.bots import PythonBot
from territorial.bots.bot_files import is_library_bot
from territorial.bots.python import View
from territorial.config import GameConfig
from territorial.config.map_mix import MapMix
from territorial.config.validation import raised_as, whole_number
from territorial.constants import LARGEST_SEED, NEUTRAL, STREAM_FUTURE
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import DRIVEN, EXTERNAL, SEAT_NAMES, Seat
from territorial.engine.vec_game import MAX_GAMES, VecGame
from territorial.files.bounded import differences
from territorial.game.formulas import are_allies, draw
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_TICK
from territorial.game.state import MAP_ID, State
from territorial.observation.action_encoding import NO_TARGET
from territorial.replay.file_format import Checkpoint, DivergedError, ReplayError
from territorial.replay.frames import Frame, GiftLog, frame_of
from territorial.replay.recorded import LEFT_OUT, RecordedGame
from territorial.typing import Bools, Ints

SNAPSHOT_EVERY = 256
"""Ticks between two positions that a Player keeps, at least."""
SNAPSHOT_BYTES = 2**28
"""Memory that the positions of one Player may take."""
WITHOUT_RULES = ("map_seed", "num_maps", *LEFT_OUT)
"""Fields of configs that say nothing of rules where the map is given."""


# ---- to a tick ----------------------------------------------------------------------------------------


def begin(replay: RecordedGame) -> VecGame:
    """Return the game of a replay at tick 0: a batch of one, every seat driven by the caller."""
    return seated(replay, replay.config, [EXTERNAL] * replay.config.num_players)


def seated(replay: RecordedGame, config: GameConfig, seats: Sequence[Seat]) -> VecGame:
    """Return the game of a replay at tick 0 under ``config``, with ``seats`` instead of its own."""
    # It fails for a map that has no room for all spawns, for example.
    with raised_as(ReplayError, "the game of the replay cannot be set up: "):
        game = VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    game.set_seats(0, seats, troops_of=replay.seats)
    if replay.starting_troops is not None:
        game.state.next_troops[0, 1:] = replay.starting_troops
    game.reset(seeds=[replay.seed])
    return game


def play_to(game: VecGame, replay: RecordedGame, tick: int) -> None:
    """Play the game of a replay on to ``tick``; DivergedError if it is over before."""
    now = int(game.state.tick[0])
    if now == tick:
        return
    if not game.state.over[0]:
        game.play(0, replay.launches_between(now, tick), tick)
    if game.state.tick[0] != tick:
        raise ends_early(game, replay)


def ends_early(game: VecGame, replay: RecordedGame) -> DivergedError:
    """Return the error that the game of a replay is over before its time."""
    return DivergedError(
        f"the game ends at tick {game.state.tick[0]}; the recorded game lasted to tick {replay.num_ticks}"
    )


def check_digest(game: VecGame, checkpoint: Checkpoint) -> None:
    """Raise DivergedError unless a game is where it was at a checkpoint."""
    found = game.digest(0)
    if found != checkpoint.digest:
        raise DivergedError(
            f"the game differs at tick {checkpoint.tick}: its digest is "
            f"{found.hex()}, the recorded digest is {checkpoint.digest.hex()}"
        )


def check_end(game: VecGame, replay: RecordedGame) -> None:
    """Raise DivergedError unless the game is where the recorded one ended, or on its way there."""
    tick, is_over = int(game.state.tick[0]), bool(game.state.over[0])
    if tick == replay.num_ticks:
        check_digest(game, replay.checkpoints[-1])
    if is_over != replay.is_over:
        found, recorded = ("over" if over else "not over" for over in (is_over, replay.is_over))
        raise DivergedError(f"the game is {found} at tick {tick}; the recorded game was {recorded}")


class ReplayPlayer:
    """Takes the game of a replay to any tick, back and forth.

    Positions are kept on the way, every SNAPSHOT_EVERY ticks or as many as fit into ``snapshot_bytes``,
    so that no later call plays more ticks than lie between two of them.
    """

    def __init__(self, replay: RecordedGame, snapshot_bytes: int = SNAPSHOT_BYTES) -> None:
        self._replay = replay
        self.game = begin(replay)
        """The game as it stands; the same object all the time, to be looked at and not to be changed."""
        start = self.game.save(0)
        room = max(1, snapshot_bytes // sum(block.nbytes for block in start.blocks))
        self._spacing = max(SNAPSHOT_EVERY, -(-replay.num_ticks // room))
        self._kept: dict[int, SavedGame] = {0: start}
        self._left = 0

    @property
    def tick(self) -> int:
        """Where the game stands."""
        return int(self.game.state.tick[0])

    def seek(self, tick: int) -> VecGame:
        """Return the game at ``tick``, from 0 to the replay's ``num_ticks``."""
        tick = whole_number("tick", tick, 0, self._replay.num_ticks)
        nearest = max(kept for kept in self._kept if kept <= tick)
        if not nearest <= self.tick <= tick or self.tick != self._left:  # somebody has played it on
            self.game.restore(0, self._kept[nearest])
        while self.tick < tick:
            corner = (self.tick // self._spacing + 1) * self._spacing
            play_to(self.game, self._replay, min(corner, tick))
            if self.tick == corner and corner not in self._kept:
                self._kept[corner] = self.game.save(0)
        self._left = tick
        return self.game


# ---- a recorded game ----------------------------------------------------------------------------------


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
        num_games, others = whole_number("num_games", num_games, 1, MAX_GAMES), seats or {}
        if future is not None:
            future = whole_number("future", future, 0, LARGEST_SEED + 1 - num_games)
        single, sitting, _ = play_to_tick(self, tick, players or {})
        check_alive(single, others)
        check_known(self, single, sitting, but=others)
        present = [EXTERNAL if player is None else player for player in sitting]
        game, saved = VecGame(self.config, num_games, seats=present, autoreset="disabled"), single.save(0)
        game.reset(seeds=[self.seed] * num_games)
        for k in range(num_games):
            game.restore(k, saved, None if future is None else future_of(self.seed, tick, future + k))
            game.change_seats(k, others)
        return game

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
        log.add(rows[rows[:, LAUNCH_TICK] == at])


# ---- on from a tick, with its own players and with others ----------------------------------------------


class Repeat(PythonBot):
    """Makes the launches of a recording again, on every seat that it has.

    ``instead``: by seat, what it launches in their place, (owner code, 1024ths); None: it holds.
    """

    name, interval = "launches of the recording", 1

    def __init__(self, replay: RecordedGame) -> None:
        self.instead: Mapping[int, tuple[int, int] | None] = {}
        self._owners = replay.config.num_players + 1
        launches = replay.launches.astype(np.int64)
        keys = self._key(launches[:, LAUNCH_TICK], launches[:, LAUNCH_SEAT])
        order = np.argsort(keys, kind="stable")
        self._keys = np.append(keys[order], -1)  # after them all: one that no launch has
        self._targets = np.append(launches[order, LAUNCH_TARGET], NO_TARGET)
        self._fractions = np.append(launches[order, LAUNCH_FRACTION], 1)

    def _key(self, ticks: Ints, seats: Ints) -> Ints:
        return ticks * self._owners + seats

    def decide(self, view: View) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """Return what the seats launched at this tick."""
        wanted = self._key(view.ticks, view.seats)
        places = np.searchsorted(self._keys[:-1], wanted)
        targets = np.where(self._keys[places] == wanted, self._targets[places], NO_TARGET)
        fractions = self._fractions[places]  # where nothing is launched, any will do
        for seat, launch in self.instead.items():
            targets[view.seats == seat], fractions[view.seats == seat] = launch or (NO_TARGET, 1)
        return targets, fractions


def starts(
    moments: Iterable[tuple[RecordedGame, int]], *, players: Mapping[str, Seat] | None = None
) -> tuple[GameConfig, list[SavedGame]]:
    """Return a config and saved games, with which environments begin at ticks of recorded games.

    The config has the rules of the recorded games and the maps of all of them. Make the environment with it,
    and with the saved games as its option ``starts``.

    Args:
        moments: replays of the same rules, each with a decision point of its game; at most 100 maps.
        players: by recorded names, those that the library does not have and that are to remember what they
            did; default None: there are none.

    Raises:
        ValueError: for no moments, for replays of different rules, and for a tick that is no decision point.
        DivergedError: where a player launches otherwise than recorded: it is not the one that played.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=500)
        >>> game = territorial.VecGame(config, num_games=1, seats=["banker", "novice"] * 2)
        >>> with territorial.Recorder(game) as recorder:
        ...     _ = game.reset(seed=0)
        ...     for _ in range(50):
        ...         _ = game.step()
        ...     replay = recorder.replay()
        >>> config, saved = territorial.replay.starts([(replay, 100), (replay, 200)])
        >>> seats = ["agent", "novice", "banker", "novice"]
        >>> env = territorial.make_vec(2, config=config, seats=seats, starts=saved)
        >>> _, info = env.reset(seed=0)
        >>> info["tick"].ravel().tolist()
        [100, 200]

    """
    chosen = list(moments)
    if not chosen:
        raise ValueError("moments is empty; it must have a replay and a tick")
    first, *others = (replay.config.to_dict() | dict.fromkeys(WITHOUT_RULES) for replay, _ in chosen)
    for i, rules in enumerate(others, start=1):
        for text in differences("config", first, rules):
            raise ValueError(f"moments[{i}] is of other rules than moments[0]: {text}")
    lands = list(dict.fromkeys(replay.land for replay, _ in chosen))
    config, saved = chosen[0][0].config.replace(map=MapMix(lands)), []
    for replay, tick in chosen:
        game, _, _ = play_to_tick(replay, tick, players or {})
        found = game.save(0)._replace(config_digest=config.hexdigest)
        State(*found.blocks).clock[MAP_ID] = lands.index(replay.land)
        saved.append(found)
    return config, saved


def check_alive(game: VecGame, seats: Iterable[int]) -> None:
    """Raise ValueError for a seat whose player is dead, or that there is not."""
    for seat in seats:
        if not game.state.alive[0, whole_number("a seat", seat, 1, game.config.num_players)]:
            died, now = game.state.death_tick[0, seat], game.state.tick[0]
            raise ValueError(f"seat {seat} died at tick {died}; at tick {now} nobody can play it")


def check_known(
    replay: RecordedGame, game: VecGame, sitting: Sequence[Seat | None], but: Collection[int]
) -> None:
    """Raise ValueError for a living seat that nobody can play on, ``but`` some."""
    names = replay.players_at(int(game.state.tick[0]))
    for seat, (name, player) in enumerate(zip(names, sitting, strict=True), start=1):
        if player is None and game.state.alive[0, seat] and seat not in but:
            raise ValueError(
                f"seat {seat} was played by {name!r}, which is no bot of the library: name it by "
                f"players={{{name!r}: ...}}, or let another player go on by seats={{{seat}: ...}}"
            )


def future_of(seed: int, tick: int, number: int) -> int:
    """Return the seed of what is drawn from ``tick`` on in ending ``number``: H(seed, 12, tick, number)."""
    return int(draw(np.array([seed], np.uint64), STREAM_FUTURE, tick, number)[0])


def play_to_tick(
    replay: RecordedGame, tick: int, players: Mapping[str, Seat]
) -> tuple[VecGame, list[Seat | None], Repeat]:
    """Play a recorded game to ``tick`` with its players; return it, who they are (None: not known), and the
    bot that repeated.

    Players that are driven from outside, or not known, repeat their launches on the way, and are "agent" or
    "external" at ``tick``.
    """
    every = replay.config.decision_every
    if whole_number("tick", tick, 0, replay.num_ticks) % every:
        raise ValueError(f"tick is {tick}; it must be a multiple of {every}, at which players decide")
    check_single(replay)
    sitting = [player_of(name, players) for name in replay.seats]
    game = seated(replay, replay.config, [EXTERNAL if one is None else one for one in sitting])
    repeat, changes = Repeat(replay), list(replay.changes)
    game.change_seats(0, {i + 1: repeat for i, one in enumerate(sitting) if one in (None, *DRIVEN)})
    while True:
        now = int(game.state.tick[0])
        while changes and changes[0].tick <= now:
            change = changes.pop(0)
            player = sitting[change.seat - 1] = player_of(change.name, players)
            seat_now = repeat if player in (None, *DRIVEN) else player
            game.change_seats(0, {change.seat: seat_now})
        if now >= tick:
            break
        if game.state.over[0]:
            raise ends_early(game, replay)
        alive = game.state.alive[0, 1:] != 0  # what the dead were told to do means nothing
        game.step(hold=True)
        _compare(replay, game, now, alive)
    left = {i + 1: one or EXTERNAL for i, one in enumerate(sitting) if one in (None, *DRIVEN)}
    game.change_seats(0, left)
    return game, sitting, repeat


def player_of(name: str, players: Mapping[str, Seat]) -> Seat | None:
    """Return the player that a recording calls ``name``; None: it is not known."""
    if name in players:
        return players[name]
    return name if name in SEAT_NAMES or is_library_bot(name) else None


def _compare(replay: RecordedGame, game: VecGame, now: int, alive: Bools) -> None:
    """Raise DivergedError if a seat that was ``alive`` launched otherwise than recorded at tick ``now``."""
    rows, players = replay.launches_between(now, now + 1), replay.config.num_players
    recorded = np.column_stack([np.full(players, NO_TARGET), np.zeros(players, np.int64)])
    recorded[rows[:, LAUNCH_SEAT] - 1] = rows[:, [LAUNCH_TARGET, LAUNCH_FRACTION]]
    launches = game.launches()
    found = np.column_stack([launches.target[0], launches.fraction[0]])
    wrong = np.flatnonzero((found != recorded).any(axis=1) & alive)
    if len(wrong):
        i, name = int(wrong[0]), replay.players_at(now)[int(wrong[0])]
        raise DivergedError(
            f"seat {i + 1}, {name!r}, {_shown(*found[i])} at tick {now}, where the recording "
            f"{_shown(*recorded[i])}: it is not the player that was recorded"
        )


def _shown(target: int, fraction: int) -> str:
    """Return what a seat did, for a message."""
    if target == NO_TARGET:
        return "holds"
    where = "free land" if target == NEUTRAL else f"P{target}"
    return f"launches {fraction} of 1024 at {where}"


def check_single(replay: RecordedGame) -> None:
    """Raise ReplayError if a seat launched more than once at a tick, which no step does."""
    players = replay.config.num_players + 1
    keys = replay.launches[:, LAUNCH_TICK].astype(np.int64) * players + replay.launches[:, LAUNCH_SEAT]
    found, counts = np.unique(keys, return_counts=True)
    if (counts > 1).any():
        tick, seat = divmod(int(found[counts > 1][0]), players)
        raise ReplayError(
            f"seat {seat} launched more than once at tick {tick}; a decision is one launch at most, "
            "so this game, played by tick() or play(), has none"
        )
