"""``Replay``: a recorded game, stored as config, seed and launches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from territorial._notebooks import ShownInNotebooks
from territorial.config import FIELDS, NON_RULE_FIELDS, GameConfig
from territorial.config.land_mask import LandMask, check_is_mask
from territorial.config.map_names import Terrain
from territorial.config.validation import checked_list, one_of, true_or_false, whole_number
from territorial.constants import FRACTION_UNIT, LARGEST_SEED, OBS_VERSION, RULES_VERSION, __version__
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import EXTERNAL
from territorial.engine.vec_game import VecGame
from territorial.files.atomic import write_file
from territorial.game.formulas import are_allies
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_TICK
from territorial.replay.file_format import (
    CHECKPOINT,
    MAX_FILE,
    Checkpoint,
    DivergedError,
    ReplayError,
    Sections,
    launches_bytes,
    pack,
    pack_checkpoints,
    pack_launches,
    unpack,
    unpack_checkpoints,
    unpack_launches,
)
from territorial.replay.frames import LONGEST_NAME, Frame, GiftLog, frame_of

SNAPSHOT_EVERY = 256
"""Ticks between two positions that a Player keeps, at least."""
SNAPSHOT_BYTES = 2**28
"""Memory that the positions of one Player may take."""


def begin(replay: Replay) -> VecGame:
    """Return the game of a replay at tick 0: a batch of one, every seat driven by the caller."""
    return seated(replay, replay.config, [EXTERNAL] * replay.config.num_players)


def seated(replay: Replay, config: GameConfig, seats: Sequence[str]) -> VecGame:
    """Return the game of a replay at tick 0 under ``config``, with ``seats`` instead of its own."""
    try:
        game = VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    except ValueError as error:  # such as a map that has no room for all spawns
        raise ReplayError(f"the game of the replay cannot be set up: {error}") from None
    game.set_seats(0, seats, troops_of=replay.seats)
    if replay.starting_troops is not None:
        game.state.next_troops[0, 1:] = replay.starting_troops
    game.reset(seeds=[replay.seed])
    return game


def play_to(game: VecGame, replay: Replay, tick: int) -> None:
    """Play the game of a replay on to ``tick``; DivergedError if it is over before."""
    now = int(game.state.tick[0])
    if now == tick:
        return
    if not game.state.over[0]:
        game.play(0, replay.launches_between(now, tick), tick)
    if game.state.tick[0] != tick:
        raise ends_early(game, replay)


def ends_early(game: VecGame, replay: Replay) -> DivergedError:
    """Return the error that the game of a replay is over before its time."""
    return DivergedError(
        f"the game ends at tick {game.state.tick[0]}; the recorded game lasted to tick {replay.num_ticks}"
    )


def _check_digest(game: VecGame, checkpoint: Checkpoint) -> None:
    found = game.digest(0)
    if found != checkpoint.digest:
        raise DivergedError(
            f"the game differs at tick {checkpoint.tick}: its digest is "
            f"{found.hex()}, the recorded digest is {checkpoint.digest.hex()}"
        )


def check_end(game: VecGame, replay: Replay) -> None:
    """Raise DivergedError unless the game is where the recorded one ended, or on its way there."""
    tick, is_over = int(game.state.tick[0]), bool(game.state.over[0])
    if tick == replay.num_ticks:
        _check_digest(game, replay.checkpoints[-1])
    if is_over != replay.is_over:
        found, recorded = ("over" if over else "not over" for over in (is_over, replay.is_over))
        raise DivergedError(f"the game is {found} at tick {tick}; the recorded game was {recorded}")


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


class ReplayPlayer:
    """Takes the game of a replay to any tick, back and forth.

    Positions are kept on the way, every SNAPSHOT_EVERY ticks or as many as fit into ``snapshot_bytes``,
    so that no later call plays more ticks than lie between two of them.
    """

    def __init__(self, replay: Replay, snapshot_bytes: int = SNAPSHOT_BYTES) -> None:
        self._replay = replay
        self.game = begin(replay)
        """The game as it stands; the same object all the time, to be looked at and not to be changed."""
        start = self.game.save(0)
        room = max(1, snapshot_bytes // sum(block.nbytes for block in start.blocks))
        self._spacing = max(SNAPSHOT_EVERY, -(-replay.num_ticks // room))
        self._kept: dict[int, SavedGame] = {0: start}

    @property
    def tick(self) -> int:
        """Where the game stands."""
        return int(self.game.state.tick[0])

    def seek(self, tick: int) -> VecGame:
        """Return the game at ``tick``, from 0 to the replay's ``num_ticks``."""
        tick = whole_number("tick", tick, 0, self._replay.num_ticks)
        nearest = max(kept for kept in self._kept if kept <= tick)
        if not nearest <= self.tick <= tick:
            self.game.restore(0, self._kept[nearest])
        while self.tick < tick:
            corner = (self.tick // self._spacing + 1) * self._spacing
            play_to(self.game, self._replay, min(corner, tick))
            if self.tick == corner and corner not in self._kept:
                self._kept[corner] = self.game.save(0)
        return self.game


SUFFIX = ".replay"
LEFT_OUT = {"map", *NON_RULE_FIELDS}
"""Fields of a config that a header does not have: the map stands elsewhere, and on others no game depends."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay(ShownInNotebooks):
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

    config: GameConfig
    seed: int
    seats: tuple[str, ...]
    names: tuple[str, ...]
    launches: npt.NDArray[np.int32]
    checkpoints: tuple[Checkpoint, ...]
    num_ticks: int
    is_over: bool
    map_kind: str | None = None
    terrain: Terrain = "water"
    library_version: str = __version__
    obs_version: int = OBS_VERSION
    starting_troops: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_is_mask("the map of a replay", self.config.map)
        limits = {"seed": LARGEST_SEED, "num_ticks": self.config.max_ticks, "obs_version": 2**31 - 1}
        checked: dict[str, Any] = {
            name: whole_number(name, getattr(self, name), 0, high) for name, high in limits.items()
        }
        num_players, num_ticks = self.config.num_players, checked["num_ticks"]
        checked |= {
            "is_over": true_or_false("is_over", self.is_over),
            "seats": checked_names("seats", self.seats, num_players),
            "names": checked_names("names", self.names, num_players),
            "library_version": _checked_name("library_version", self.library_version),
            "map_kind": None if self.map_kind is None else _checked_name("map_kind", self.map_kind),
            "starting_troops": _checked_troops(self.starting_troops, num_players),
            "terrain": one_of("terrain", self.terrain, get_args(Terrain)),
            "launches": _checked_launches(self.launches, self.config, num_ticks),
        }
        ticks = [checkpoint.tick for checkpoint in self.checkpoints]
        if ticks[-1:] != [num_ticks] or sorted(set(ticks)) != ticks:
            raise ValueError(
                f"checkpoints are at ticks {ticks[:5]} ...; they must increase up to {num_ticks}"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    # ---- files ------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Replay:
        """Return the replay in the file at ``path``.

        Raises OSError if it cannot be read, and ReplayError if it is no replay, cut short, altered, or
        of another version of the format or of the rules.
        """
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE + 1)
        try:
            if len(data) > MAX_FILE:
                raise ReplayError(f"the file has more than the {MAX_FILE:,} bytes that a replay may take")
            return cls.from_bytes(data)
        except ReplayError as error:
            raise ReplayError(f"{str(path)!r}: {error}") from None

    @classmethod
    def from_bytes(cls, data: bytes) -> Replay:
        """Return the replay that ``to_bytes`` made ``data`` of; ReplayError if it is none."""
        try:
            return cls(**_fields_of(unpack(data, _largest)))
        except ReplayError:
            raise
        except KeyError as error:
            raise ReplayError(f"the header of the replay has no {error}") from None
        except (TypeError, ValueError, OverflowError) as error:
            raise ReplayError(f"the replay holds an impossible value: {error}") from None

    def to_bytes(self) -> bytes:
        """Return the bytes that ``save`` writes, in the format of docs/replay_format.md."""
        config = self.config
        header = {
            "library": self.library_version,
            "rules": RULES_VERSION,
            "observations": self.obs_version,
            "config": {name: one for name, one in config.to_dict().items() if name not in LEFT_OUT},
            "map_kind": self.map_kind,
            "terrain": self.terrain,
            "seed": self.seed,
            "seats": self.seats,
            "names": self.names,
            "ticks": self.num_ticks,
            "over": self.is_over,
        }
        if self.starting_troops is not None:
            header["starting_troops"] = self.starting_troops
        launches = pack_launches(self.launches, config.num_players, config.decision_every)
        return pack(Sections(header, self.land.bits, launches, pack_checkpoints(self.checkpoints)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the replay to ``path``: wholly or, if that fails, not at all."""
        write_file(path, self.to_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return Replay.from_bytes, (self.to_bytes(),)

    # ---- looking ----------------------------------------------------------------------------------

    @property
    def land(self) -> LandMask:
        """The map."""
        assert isinstance(self.config.map, LandMask)
        return self.config.map

    @property
    def teams(self) -> tuple[int, ...] | None:
        """The team 1..N of each seat; None if no seat has an ally."""
        return self.config.team_of(self.seed) if self.config.has_allies else None

    @property
    def num_land(self) -> int:
        """Land cells of the map, M in the rules."""
        return self.land.num_land

    @property
    def digest(self) -> bytes:
        """The digest of the game at its end, 8 bytes."""
        return self.checkpoints[-1].digest

    def __repr__(self) -> str:
        config = self.config
        return (
            f"Replay({config.height} x {config.width}, {config.num_players} players, seed {self.seed}, "
            f"{self.num_ticks} ticks, {len(self.launches)} launches)"
        )

    # ---- playing ----------------------------------------------------------------------------------

    @cached_property
    def _launch_ticks(self) -> npt.NDArray[np.int32]:
        """The ticks of the launches, one after the other in memory: they are searched for every move on."""
        return np.ascontiguousarray(self.launches[:, LAUNCH_TICK])

    def launches_between(self, start: int, end: int) -> npt.NDArray[np.int32]:
        """Return the launches from tick ``start`` on that come before ``end``, (n, 4)."""
        # Of one type, or all ticks would be copied.
        first, last = np.searchsorted(self._launch_ticks, np.array((start, end), np.int32))
        return self.launches[first:last]

    def game(self, tick: int = 0) -> VecGame:
        """Return a new VecGame of this one game at ``tick``, to play on with as one likes.

        Every seat is "external": driven by the actions given to ``step``. Its ``config`` is the replay's.
        """
        game = begin(self)
        play_to(game, self, whole_number("tick", tick, 0, self.num_ticks))
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
            if gifts is not None:
                _play_and_log(game, self, tick, gifts)
            play_to(game, self, tick)
            yield frame_of(game, 0, gifts)

    def verify(self) -> None:
        """Play the game again and compare it at all checkpoints; DivergedError names the first to differ."""
        game = begin(self)
        for checkpoint in self.checkpoints:
            play_to(game, self, checkpoint.tick)
            _check_digest(game, checkpoint)
        check_end(game, self)


# ---- reading and checking --------------------------------------------------------------------------


def _fields_of(sections: Sections) -> dict[str, Any]:
    """Return the arguments of Replay that a file holds, unchecked but for the config."""
    header = sections.header
    config = _config_of(header["config"])
    config = config.replace(map=LandMask(config.height, config.width, sections.land))
    return {
        "config": config,
        "seed": header["seed"],
        "seats": header["seats"],
        "names": header["names"],
        "launches": unpack_launches(sections.launches, config.num_players, config.decision_every),
        "checkpoints": unpack_checkpoints(sections.checkpoints),
        "num_ticks": header["ticks"],
        "is_over": header["over"],
        "map_kind": header["map_kind"],
        "terrain": header["terrain"],
        "library_version": header["library"],
        "obs_version": header["observations"],
        "starting_troops": header.get("starting_troops"),
    }


def _largest(header: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return how many bytes map, launches and checkpoints of a game can take, by the header of its file."""
    rules, library = (str(header.get(name))[:LONGEST_NAME] for name in ("rules", "library"))
    if rules != str(RULES_VERSION):
        raise ReplayError(
            f"the replay was played by version {rules!r} of the rules (territorial-env {library!r}); "
            f"this library plays version {RULES_VERSION}"
        )
    config = _config_of(header["config"])
    num_ticks = whole_number("num_ticks", header["ticks"], 0, config.max_ticks)
    launches = launches_bytes(config.num_players, most_launches(config, num_ticks))
    return config.height * -(-config.width // 8), launches, CHECKPOINT.size * (num_ticks + 1)


def most_launches(config: GameConfig, num_ticks: int) -> int:
    """Return how many launches a game of ``num_ticks`` can hold: of a seat at a decision, one a target."""
    decisions = -(-num_ticks // config.decision_every)
    return decisions * config.num_players * (config.num_players + 1)


def _config_of(values: Any) -> GameConfig:
    """Return the config of a header, which has no map."""
    if not isinstance(values, Mapping):
        raise TypeError("config is not a JSON object")
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    wanted = FIELDS.keys() - LEFT_OUT
    if fields.keys() != wanted:
        names = ", ".join(sorted(fields.keys() ^ wanted))
        raise ValueError(f"the config and GameConfig do not have the same fields: {names[:200]}")
    return GameConfig(map="open", **fields)


def checked_names(what: str, names: Any, num_players: int) -> tuple[str, ...]:
    """Return ``names`` as a tuple; ValueError unless they are one short printable string per seat."""
    if not isinstance(names, (list, tuple)) or len(names) != num_players:
        raise ValueError(f"{what} must be {num_players} strings, one per seat")
    return tuple(_checked_name(f"{what}[{i}]", name) for i, name in enumerate(names))


def _checked_troops(troops: Any, num_players: int) -> tuple[int, ...] | None:
    """Return ``troops``, if any, as a tuple; TypeError or ValueError unless they are one number per seat."""
    if troops is None:
        return None
    listed = checked_list("starting_troops", troops)
    if len(listed) != num_players:
        raise ValueError(
            f"starting_troops has {len(listed)} entries; it must have {num_players}, one per seat"
        )
    return tuple(whole_number(f"starting_troops[{i}]", one, 1, 1_000_000) for i, one in enumerate(listed))


def _checked_name(what: str, name: Any) -> str:
    """Return ``name`` if it is short and can be printed: no control characters for a terminal."""
    if isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and name.isprintable():
        return name
    raise ValueError(
        f"{what} is {str(name)[:80]!r}; it must be a string of 1 to {LONGEST_NAME} printable characters"
    )


def _checked_launches(launches: Any, config: GameConfig, num_ticks: int) -> npt.NDArray[np.int32]:
    """Return ``launches`` as int32 (N, 4), read-only; ValueError names the first that cannot be."""
    table = np.asarray(launches).reshape(-1, 4)
    most = most_launches(config, num_ticks)
    if len(table) > most:
        raise ValueError(
            f"there are {len(table):,} launches; a game of {num_ticks:,} ticks holds at most "
            f"{most:,}, one at each target for each decision of {config.num_players} seats"
        )
    low, high = (0, 1, 0, 1), (num_ticks - 1, config.num_players, config.num_players, FRACTION_UNIT)
    ticks = table[:, LAUNCH_TICK]
    is_wrong = ((table < low) | (table > high)).any(axis=1) | (ticks % config.decision_every != 0)
    is_wrong[1:] |= ticks[1:] < ticks[:-1]
    if is_wrong.any():
        i = int(is_wrong.argmax())
        raise ValueError(
            f"launch {i} is {table[i].tolist()}; it must be from {list(low)} to "
            f"{list(high)}, at a multiple of {config.decision_every} ticks, and not before "
            "the previous launch"
        )
    checked = table.astype(np.int32)
    checked.flags.writeable = False
    return checked
