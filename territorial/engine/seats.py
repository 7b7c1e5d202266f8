"""Seats: agent, external caller or bot; and named line-ups."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.bots.bot_files import bot_of_file, is_bot_file, is_library_bot, library_bot
from territorial.bots.network_bot import Network
from territorial.bots.python import PythonBot
from territorial.bots.style import ALL, MOST_TICKS, Style, check_name
from territorial.config import GameConfig
from territorial.config.validation import hint, shown, whole_number
from territorial.constants import AGENT_CODE

AGENT = "agent"
"""A seat driven by actions and reported as an agent of the environment."""
EXTERNAL = "external"
"""A seat driven by actions but not reported as an agent."""

CompiledBot = Style | Network
"""A custom bot that compiled code plays: a style, or a trained network."""

CustomBot = PythonBot | Style | Network
"""A bot that is not of the library: in Python, or as data that the engine plays."""

Seat = str | CustomBot
"""Who plays a seat: a name of SEAT_NAMES, that of a bot with or without its version, ``style:FILE`` or
``net:FILE`` for the style or the network in a file, or a custom bot."""

SEAT_NAMES: tuple[str, ...] = (AGENT, EXTERNAL, *bots.NAMES)
"""All names of seats; the position of a name is its code in the state (see constants)."""

WHOLE_START = 512  # all of the starting troops: the rules count in these parts

FIRST_PYTHON_CODE = len(SEAT_NAMES)
"""The first seat code of a bot in Python; they end before FIRST_CUSTOM_CODE."""
FIRST_CUSTOM_CODE = 1 << 16
"""The first seat code of a custom bot that compiled code plays; those of bots in Python lie below."""
DRIVEN = (AGENT, EXTERNAL)
"""Players that are driven from outside."""

_CODES = {name: code for code, name in enumerate(SEAT_NAMES)}
_CODES |= {alias: _CODES[name] for alias, name in bots.ALIASES.items()}
_CHOICES = (*DRIVEN, *bots.UNVERSIONED_NAMES)
_WANTED = f"it must be one of {', '.join(_CHOICES)}, or style:FILE or net:FILE for the file of a bot"


class LineUp(NamedTuple):
    """A fixed list of players and seeds, so that figures taken with it can be compared.

    Args:
        seats: one name of a bot per seat.
        seeds: seeds of the games that figures are taken over.
        teams: how many teams it is for, dealt in blocks; default None: for games without teams.

    Example:
        >>> import territorial
        >>> territorial.LINEUPS["mixed-1"].seats[0]
        'metronome-1'

    """

    seats: tuple[str, ...]
    seeds: tuple[int, ...]
    teams: int | None = None


TEAM_OF_EIGHT = (
    *("warden-1", "medic-1", "opportunist-1", "turtle-1"),
    *("metronome-1", "banker-1", "vulture-1", "hard-1"),
)

LINEUPS: Mapping[str, LineUp] = MappingProxyType(
    {
        "mixed-1": LineUp(
            seats=("metronome-1",) * 10
            + ("banker-1",) * 6
            + ("turtle-1",) * 2
            + ("novice-1",) * 10
            + ("random-1",) * 4,
            seeds=tuple(range(64)),
        ),
        "mixed-2": LineUp(
            seats=("opportunist-1",) * 2
            + ("turtle-1",) * 2
            + ("settler-1",) * 2
            + ("besieger-1",) * 2
            + ("vulture-1",)
            + ("metronome-1",) * 5
            + ("banker-1", "leader_hunter-1", "finisher-1", "geographer-1", "avenger-1")
            + ("sprinter-1", "bully-1", "drip-1", "full_sender-1")
            + ("impossible-1", "very_hard-1", "hard-1", "hard-1", "normal-1", "easy-1", "very_easy-1")
            + ("novice-1", "random-1"),
            seeds=tuple(range(64)),
        ),
        "levels-1": LineUp(
            seats=("impossible-1",) * 6
            + ("very_hard-1",) * 6
            + ("hard-1",) * 5
            + ("normal-1",) * 5
            + ("easy-1",) * 5
            + ("very_easy-1",) * 5,
            seeds=tuple(range(64)),
        ),
        "teams-4x8": LineUp(
            seats=TEAM_OF_EIGHT * 4,
            seeds=tuple(range(64)),
            teams=4,
        ),
    }
)
"""Named line-ups; what a name means never changes."""


def name_of(seat: Any) -> Any:
    """Return the name of a seat: that of a custom bot is its own, all others are names themselves."""
    return seat.name if isinstance(seat, CustomBot) else seat


def check_seats(seats: Sequence[Seat] | None, num_players: int) -> None:
    """Raise TypeError or ValueError unless a batch of ``num_players`` seats can have ``seats``."""
    found = with_bots_of_files(seats)
    custom = [seat.name for seat in found if isinstance(seat, CustomBot)] if _are_listed(found) else []
    seat_codes(found, num_players, custom=custom)


def with_bots_of_files(seats: Any, known: Collection[str] = (), what: str = "seats") -> Any:
    """Return ``seats`` with bots instead of the texts that name their files, but for ``known`` names.

    What is no list of seats, or names no file, is left as it is: others say what is wrong with it.
    ValueError names the entry, of what is called ``what``, whose file cannot be read.
    """
    if not _are_listed(seats):
        return seats
    texts = dict.fromkeys(text for text in seats if is_bot_file(text) and text not in known)
    if not texts:
        return seats
    listed = list(seats)
    read = {text: bot_of_file(f"{what}[{listed.index(text)}]", str(text)) for text in texts}
    return [read.get(seat, seat) if is_bot_file(seat) else seat for seat in listed]


def _are_listed(seats: Any) -> bool:
    """Return whether ``seats`` have an order and a length, and are not a single string."""
    if isinstance(seats, np.ndarray):
        return seats.ndim == 1
    return isinstance(seats, Sequence) and not isinstance(seats, (str, bytes, bytearray))


def is_built_in(style: Style) -> bool:
    """Return whether ``style`` is, in all that it says, a bot of the library."""
    return style.name in bots.NAMES and bots.make(style.name).style == style


def is_same_bot(one: CustomBot, other: CustomBot) -> bool:
    """Return whether two custom bots are one: styles that are equal, bots in Python that are one object."""
    return one is other or (isinstance(one, CompiledBot) and one == other)


def seat_codes(
    seats: Sequence[Seat] | None,
    num_players: int,
    python_bots: Sequence[str] = (),
    custom: Sequence[str] = (),
) -> npt.NDArray[np.int64]:
    """Return the codes of ``seats`` as int64 (P,); None means that every seat is an agent.

    A sequence is a list, a tuple or the like, or a 1-D array of strings; ``python_bots`` are the names of the
    bots in Python that there are, ``custom`` those of other custom bots. Raises TypeError for what is no
    sequence or holds other things than strings and such bots, and ValueError for a wrong number or unknown
    names.
    """
    if seats is None:
        return np.full(num_players, AGENT_CODE, np.int64)
    if not _are_listed(seats):
        raise TypeError(
            f"seats is {shown(seats)}; it must be a sequence of one name per seat, such as a list or a tuple"
        )
    if len(seats) != num_players:
        raise ValueError(
            f"seats has {len(seats)} entries but num_players is {num_players}; pass one entry per seat"
        )
    codes = {name: code for code, name in enumerate(custom, start=FIRST_CUSTOM_CODE)}
    codes |= {name: code for code, name in enumerate(python_bots, start=len(SEAT_NAMES))} | _CODES
    names = [name_of(seat) for seat in seats]
    for i, name in enumerate(names):
        if not isinstance(name, str):
            is_class = isinstance(name, type)
            wanted = f"it must be an object of this class: {name.__name__}()" if is_class else _WANTED
            raise TypeError(f"seats[{i}] is {shown(name)}; {wanted}")
        if name not in codes:
            raise ValueError(f"seats[{i}] is {str(name)!r}{hint(name, _CHOICES)}; {_WANTED}")
    return np.array([codes[name] for name in names], np.int64)


def starting_troops(seats: Sequence[Seat], config: GameConfig) -> npt.NDArray[np.int64]:
    """Return the starting troops of ``seats``, int64 (P,): less for lower levels if handicaps are on.

    Names that are unknown here, as they may be in a file from elsewhere, start with all.
    """
    by_name = {name_of(seat): seat for seat in seats}
    parts = {name: _start(seat) if config.handicap else ALL for name, seat in by_name.items()}
    shares = [round(WHOLE_START * parts[name_of(seat)] / ALL) for seat in seats]
    return np.array([max(1, config.starting_troops * share // WHOLE_START) for share in shares], np.int64)


def _start(seat: Seat) -> float:
    """Return the starting troops of a seat with handicaps, in per cent."""
    if isinstance(seat, CompiledBot):
        return seat.start
    is_bot = isinstance(seat, str) and seat in _CODES and seat not in DRIVEN
    return bots.make(str(seat)).style.start if is_bot else ALL


def shown_names(seats: Sequence[Seat]) -> tuple[str, ...]:
    """Return names of seats for pictures and replays: agents as by PettingZoo, bots by their name."""
    names = (str(name_of(seat)) for seat in seats)
    return tuple(f"player_{i}" if name == AGENT else bots.short(name) for i, name in enumerate(names))


def check_custom(bot: CustomBot, others: Collection[str] = ()) -> None:
    """Raise ValueError for a custom bot with a bad name or interval; ``others``: names in use."""
    what = f"the bot {type(bot).__name__}"
    if isinstance(bot, CompiledBot):  # whose fields have been checked
        what = "a style" if isinstance(bot, Style) else "a network"
    else:
        check_name(what, getattr(bot, "name", None))
        whole_number(f"interval of {what}", bot.interval, 1, MOST_TICKS)
    is_taken = not isinstance(bot, Network) and (bot.name in _CODES or is_library_bot(bot.name))
    if isinstance(bot, Style) and is_taken:
        is_taken = not (is_built_in(bot) or (is_library_bot(bot.name) and bot == library_bot(bot.name)))
    elif bot.name in others:
        is_taken = True
    if is_taken:
        raise ValueError(
            f"{what} has the name {bot.name!r}, which belongs to another bot or to a built-in one; choose "
            "another name"
        )
