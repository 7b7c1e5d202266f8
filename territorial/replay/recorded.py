"""``RecordedGame``: the data of a replay, checked, and its file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt

from territorial._notebooks import ShownInNotebooks
from territorial.config import FIELDS, NON_RULE_FIELDS, GameConfig
from territorial.config.land_mask import LandMask, check_is_mask
from territorial.config.map_names import Terrain
from territorial.config.validation import (
    checked_list,
    one_of,
    raised_as,
    true_or_false,
    whole_number,
    whole_numbers,
)
from territorial.constants import LARGEST_SEED, OBS_VERSION, RULES_VERSION, __version__
from territorial.engine.calls import checked_launch_table
from territorial.files.atomic import write_file
from territorial.game.scratch import LAUNCH_TICK
from territorial.replay.file_format import (
    CHECKPOINT,
    MAX_FILE,
    Checkpoint,
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
from territorial.replay.frames import LONGEST_NAME

SUFFIX = ".replay"
LEFT_OUT = {"map", *NON_RULE_FIELDS}
"""Fields of a config that a header does not have: the map stands elsewhere, and on others no game depends."""


class Change(NamedTuple):
    """Another player takes over a seat.

    Args:
        tick: at which it makes its first decision, or has to wait for it.
        seat: 1..P.
        name: of the player.

    """

    tick: int
    seat: int
    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedGame(ShownInNotebooks):
    """The data of a replay: a config, a seed, launches and digests. ``Replay`` has the arguments."""

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
    changes: tuple[Change, ...] = ()

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
            "library_version": checked_name("library_version", self.library_version),
            "map_kind": None if self.map_kind is None else checked_name("map_kind", self.map_kind),
            "terrain": one_of("terrain", self.terrain, get_args(Terrain)),
            "launches": _checked_launches(self.launches, self.config, num_ticks),
            "changes": _checked_changes(self.changes, num_players, num_ticks),
        }
        if self.starting_troops is not None:
            troops = whole_numbers("starting_troops", self.starting_troops, (num_players,), 1, 1_000_000)
            checked["starting_troops"] = tuple(troops.tolist())
        ticks = [checkpoint.tick for checkpoint in self.checkpoints]
        if ticks[-1:] != [num_ticks] or sorted(set(ticks)) != ticks:
            raise ValueError(
                f"checkpoints are at ticks {ticks[:5]} ...; they must increase up to {num_ticks}"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    # ---- files ------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the replay in the file at ``path``.

        Raises OSError if it cannot be read, and ReplayError if it is no replay, cut short, altered, or
        of another version of the format or of the rules.
        """
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE + 1)
        with raised_as(ReplayError, f"{str(path)!r}: ", ReplayError):
            if len(data) > MAX_FILE:
                raise ReplayError(f"the file has more than the {MAX_FILE:,} bytes that a replay may take")
            return cls.from_bytes(data)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
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
        if self.changes:
            header["changes"] = self.changes
        launches = pack_launches(self.launches, config.num_players, config.decision_every)
        return pack(Sections(header, self.land.bits, launches, pack_checkpoints(self.checkpoints)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the replay to ``path``: wholly or, if that fails, not at all."""
        write_file(path, self.to_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

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

    @cached_property
    def _launch_ticks(self) -> npt.NDArray[np.int32]:
        """The ticks of the launches, one after the other in memory: they are searched for every move on."""
        return np.ascontiguousarray(self.launches[:, LAUNCH_TICK])

    def launches_between(self, start: int, end: int) -> npt.NDArray[np.int32]:
        """Return the launches from tick ``start`` on that come before ``end``, (n, 4)."""
        # Of one type, or all ticks would be copied.
        first, last = np.searchsorted(self._launch_ticks, np.array((start, end), np.int32))
        return self.launches[first:last]

    def players_at(self, tick: int) -> tuple[str, ...]:
        """Return who played each seat at ``tick``: ``seats``, but for ``changes`` up to there."""
        found = list(self.seats)
        for change in self.changes:
            if change.tick <= tick:
                found[change.seat - 1] = change.name
        return tuple(found)


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
        "changes": header.get("changes", ()),
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
    return tuple(checked_name(f"{what}[{i}]", name) for i, name in enumerate(names))


def _checked_changes(changes: Any, num_players: int, num_ticks: int) -> tuple[Change, ...]:
    """Return ``changes`` as a tuple; ValueError or TypeError unless each can be, and ticks never fall."""
    checked: list[Change] = []
    for i, change in enumerate(checked_list("changes", changes)):
        if not isinstance(change, (list, tuple)) or len(change) != len(Change._fields):
            raise ValueError(f"changes[{i}] is {str(change)[:80]}; it must be a tick, a seat and a name")
        first = checked[-1].tick if checked else 0
        tick = whole_number(f"the tick of changes[{i}]", change[0], first, num_ticks)
        seat = whole_number(f"the seat of changes[{i}]", change[1], 1, num_players)
        checked.append(Change(tick, seat, checked_name(f"the name of changes[{i}]", change[2])))
    return tuple(checked)


def checked_name(what: str, name: Any) -> str:
    """Return ``name``; ValueError unless it is short and can be printed, without control characters."""
    if isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and name.isprintable():
        return name
    raise ValueError(
        f"{what} is {str(name)[:80]!r}; it must be a string of 1 to {LONGEST_NAME} printable characters"
    )


def _checked_launches(launches: Any, config: GameConfig, num_ticks: int) -> npt.NDArray[np.int32]:
    """Return ``launches`` as int32 (N, 4), read-only; an error names the first that cannot be."""
    most = most_launches(config, num_ticks)
    if len(launches) > most:
        raise ValueError(
            f"there are {len(launches):,} launches; a game of {num_ticks:,} ticks holds at most "
            f"{most:,}, one at each target for each decision of {config.num_players} seats"
        )
    table = checked_launch_table(launches, config.num_players, 0, num_ticks).astype(np.int32)
    off_grid = table[:, LAUNCH_TICK] % config.decision_every != 0
    if off_grid.any():
        raise ValueError(
            f"launches are at tick {table[off_grid.argmax(), LAUNCH_TICK]}; they must be at a decision, a "
            f"multiple of {config.decision_every} ticks"
        )
    table.flags.writeable = False
    return table
