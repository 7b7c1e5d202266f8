"""The file of a league: a zip of arrays, read within bounds.

``about`` is a JSON text, the others are tables of numbers. Nothing else may be in it; what a member takes is
known before it is unpacked; and nothing is ever unpickled.
"""

import errno
import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from territorial.config.validation import (
    checked_list,
    finite_number,
    raised_as,
    shown,
    whole_number,
    whole_number_in,
)
from territorial.evaluation.ratings import Rating, TableSpec, layout
from territorial.files.bounded import Bounds, check_fields, made_of, parse_object
from territorial.league.config import LeagueConfig
from territorial.league.seating import Player
from territorial.typing import Array

ABOUT = "about"
TABLES = tuple(layout(0))
BOUNDS = Bounds(nbytes=32 * 2**20, values=2**21)
"""Of the JSON text."""
# Bytes of what stands before the numbers of an array; numpy takes 128.
_MAX_HEADER = 4096


def text_of(about: Mapping[str, Any]) -> bytes:
    """Return the JSON text of a file; ValueError for numbers that JSON lacks."""
    return json.dumps(about, allow_nan=False).encode()


def pack(about: bytes, tables: Mapping[str, Array]) -> bytes:
    """Return the bytes of a file with the text ``about``."""
    file = io.BytesIO()
    # Written after every iteration: level 1 takes 0.4 times as long as the usual one, for 7 % more bytes.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in {ABOUT: np.frombuffer(about, np.uint8), **tables}.items():
            with archive.open(f"{name}.npy", "w") as member:
                npy.write_array(member, array, allow_pickle=False)
    return file.getvalue()


class LeagueFile:
    """The arrays in a file that is open for reading; ValueError if it is not one of a league."""

    def __init__(self, file: BinaryIO) -> None:
        with _damage("the archive"):
            self._archive = zipfile.ZipFile(file)
        members = self._archive.namelist()
        wanted = sorted(f"{name}.npy" for name in (ABOUT, *TABLES))
        if sorted(members) != wanted:
            raise ValueError(f"its members are {shown(members)}; they must be {', '.join(wanted)}")

    def about(self) -> dict[str, Any]:
        """Return the fields of the JSON text."""
        text = self._array(ABOUT, BOUNDS.nbytes).tobytes()
        with raised_as(ValueError, f"{ABOUT}: "):
            return parse_object(text, BOUNDS)

    def tables(self, wanted: Mapping[str, TableSpec]) -> dict[str, Array]:
        """Return the other arrays, none of which is unpacked if it is larger than ``wanted`` says."""
        sizes = {name: math.prod(shape) * np.dtype(dtype).itemsize for name, (dtype, shape) in wanted.items()}
        return {name: self._array(name, size) for name, size in sizes.items()}

    def _array(self, name: str, most: int) -> Array:
        """Return an array of at most ``most`` bytes."""
        info = self._archive.getinfo(f"{name}.npy")
        if info.file_size > most + _MAX_HEADER:
            raise ValueError(
                f"{name} takes {info.file_size:,} bytes; it must take at most {most + _MAX_HEADER:,}"
            )
        with _damage(name), self._archive.open(info) as member:
            return npy.read_array(member, allow_pickle=False)


@contextmanager
def _damage(what: str) -> Iterator[None]:
    """Raise ValueError for all that reading of a damaged archive may fail with."""
    try:
        yield
    except Exception as error:  # of many types
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # that is a place before the beginning
            raise
        raise ValueError(f"{what} is damaged: {str(error) or type(error).__name__}") from None


# ---- what the text of a file says ------------------------------------------------------------------------


FORMAT = "territorial league, version 1"
MOST_NOTES = 1000
"""Lines of the history; once they are reached, every second one goes: what is old is kept more sparsely."""
LARGEST_COUNT = 2**53
"""Of steps and the like: what is counted is exact up to there, in floats too."""


@dataclass
class LeagueSnapshot:
    """A frozen copy of a learner, as the league knows it."""

    name: str
    learner: str
    step: int
    """Steps of the learner when it was frozen."""


COUNTS = ("steps", "frozen_at", "count")
FIELDS = ("format", "config", "players", "ratings", "snapshots", *COUNTS, "num_games", "history", "rng")
"""What the text says: all of a league but the tables of its payoff."""


def checked(about: Mapping[str, Any], python_bots: Sequence[Any] = ()) -> dict[str, Any]:
    """Return the ``FIELDS`` of a text as a league has them; ValueError and TypeError for whatever cannot be.

    ``config`` is then a ``LeagueConfig``, and ``snapshots`` are ``LeagueSnapshot`` by name. ``players`` are
    in the order of the rows of the payoff.
    """
    if about.get("format") != FORMAT:
        raise ValueError(f"it has the format {shown(about.get('format'))}; this release reads {FORMAT!r}")
    check_fields("it", about, FIELDS)
    config = LeagueConfig.from_dict(about["config"], python_bots)
    counts = {name: _counts(name, about[name], config) for name in COUNTS}
    for name, step in counts["frozen_at"].items():
        whole_number(f"frozen_at[{name!r}]", step, 0, counts["steps"][name])
    snapshots = _snapshots(about["snapshots"], config, counts["steps"], counts["count"])
    known = _Known(
        {learner.name for learner in config.learners},
        set(snapshots),
        {f"bot:{bot.name}" for bot in config.python_bots},
        config.env,
    )
    history = enumerate(checked_list("history", about["history"], most=MOST_NOTES))
    players = enumerate(checked_list("players", about["players"]))
    return {
        **counts,
        "config": config,
        "players": [_player(f"players[{i}]", text, known) for i, text in players],
        "ratings": _ratings(about["ratings"], known),
        "snapshots": snapshots,
        "num_games": whole_number("num_games", about["num_games"], 0, LARGEST_COUNT),
        "history": [checked_row(f"history[{i}]", row) for i, row in history],
        "rng": _rng(about["rng"]),
    }


# ---- who there is --------------------------------------------------------------------------------------


class _Known(NamedTuple):
    """The players of a league; ``own``: its custom bots, ``env``: whose the others are."""

    learners: set[str]
    snapshots: set[str]
    own: set[str]
    env: str


def _counts(name: str, given: Any, config: LeagueConfig) -> dict[str, int]:
    check_fields(name, given, {learner.name for learner in config.learners})
    return {key: whole_number(f"{name}[{key!r}]", value, 0, LARGEST_COUNT) for key, value in given.items()}


def _snapshots(
    given: Any, config: LeagueConfig, steps: Mapping[str, int], count: Mapping[str, int]
) -> dict[str, LeagueSnapshot]:
    found: dict[str, LeagueSnapshot] = {}
    for i, values in enumerate(checked_list("snapshots", given, most=config.capacity)):
        what = f"snapshots[{i}]"
        one = made_of(LeagueSnapshot, what, values)
        if not isinstance(one.learner, str) or one.learner not in steps:
            raise ValueError(f"{what}: learner is {shown(one.learner)}; it must be one of {', '.join(steps)}")
        if not _is_copy(one.name, one.learner, count[one.learner]) or one.name in found:
            raise ValueError(
                f"{what}: name is {shown(one.name)}; it must be {one.learner}-N with N at "
                f"least 0 and below {count[one.learner]}, and occur only once"
            )
        whole_number(f"{what}: step", one.step, 0, steps[one.learner])
        found[one.name] = one
    return found


def _is_copy(name: Any, learner: str, count: int) -> bool:
    """Return whether a snapshot of this name can be one of the first ``count`` copies of a learner."""
    number = whole_number_in(str(name).rpartition("-")[2], 0, count - 1)
    return number is not None and name == f"{learner}-{number}"


def _player(what: str, text: Any, known: _Known) -> str:
    """Return the text of a player of the league."""
    if isinstance(text, str) and text in known.own:
        return text
    with raised_as(ValueError, f"{what}: ", (TypeError, ValueError)):
        player = Player.parse(text, known.env)
    here = {"trainable": known.learners, "snapshot": known.snapshots}.get(player.kind)
    if here is not None and player.name not in here:
        raise ValueError(f"{what} is {shown(text)}; the league has no {player.kind} of that name")
    return str(player)


def _ratings(given: Any, known: _Known) -> dict[str, Rating] | None:
    if given is None:
        return None
    return {
        _player("ratings", text, known): _rating(f"ratings[{shown(text)}]", pair)
        for text, pair in _mapping("ratings", given).items()
    }


def _rating(what: str, pair: Any) -> Rating:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise ValueError(f"{what} is {shown(pair)}; it must be a mean and a standard deviation")
    mu, sigma = (finite_number(what, value, -1e9, 1e9) for value in pair)
    if sigma <= 0:
        raise ValueError(f"{what} has the standard deviation {sigma}; it must be above 0")
    return Rating(mu, sigma)


# ---- the rest ------------------------------------------------------------------------------------------


def checked_row(what: str, row: Any) -> dict[str, Any]:
    """Return a line of the history; additional entries are allowed."""
    check_fields(what, row, {"step", "games", "ratings"}, _mapping(what, row))
    finite_number(f"{what}: step", row["step"], -LARGEST_COUNT, LARGEST_COUNT)
    whole_number(f"{what}: games", row["games"], 0, LARGEST_COUNT)
    for text, pair in _mapping(f"{what}: ratings", row["ratings"]).items():
        _rating(f"{what}: ratings[{shown(text)}]", pair)
    for text, value in _mapping(f"{what}: above", row.get("above", {})).items():
        if value is not None:
            finite_number(f"{what}: above[{shown(text)}]", value, 0, 1)
    for text, games in _mapping(f"{what}: met", row.get("met", {})).items():
        whole_number(f"{what}: met[{shown(text)}]", games, 0, LARGEST_COUNT)
    return dict(row)


def _rng(given: Any) -> dict[str, Any]:
    """Return the state of numpy's PCG64."""
    ends = {"has_uint32": 1, "uinteger": 2**32 - 1}
    check_fields("rng", given, {"bit_generator", "state", *ends})
    if given["bit_generator"] != "PCG64":
        raise ValueError(f"rng: bit_generator is {shown(given['bit_generator'])}; it must be 'PCG64'")
    check_fields("rng: state", given["state"], {"state", "inc"})
    for name, value in given["state"].items():
        whole_number(f"rng: state[{name!r}]", value, 0, 2**128 - 1)
    for name, most in ends.items():
        whole_number(f"rng: {name}", given[name], 0, most)
    return dict(given)


# ---- kinds ---------------------------------------------------------------------------------------------


def _mapping(what: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {shown(value)}; it must be an object with names")
    return value
