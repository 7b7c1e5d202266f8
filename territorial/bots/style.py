"""``Style``: the parameters of a rule-based bot, and their integer encoding."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Any, NamedTuple

from territorial.bots import settings as s
from territorial.bots import targets as t
from territorial.bots.targets import BY_DENSITY
from territorial.config.validation import (
    check_type,
    finite_number,
    one_of,
    raised_as,
    shown,
    suggests_keywords,
    true_or_false,
    whole_number,
    whole_or_none,
)
from territorial.files.atomic import write_file
from territorial.files.bounded import Bounds, made_of, parse_object, read_file

Range = int | tuple[int, int]
"""A number, or the lowest and the highest of those that a seat may draw."""
Share = float | tuple[float, float]  # the same in per cent, in steps of 0.1
SHARES = ("send", "later", "fall")  # the fields that may be such pairs

MOST_TICKS = 10_000_000
"""From one decision of a bot to the next, and in an opening."""
LONGEST_NAME = 64
_TEXT = 1000


def normalize(part: Any, ends: Mapping[str, tuple[Any, int]], flags: tuple[str, ...] = ()) -> None:
    """Replace the fields of a frozen ``part`` by whole numbers, pairs and flags of Python; errors name one.

    ``ends``: the lowest and the highest value by the names of the fields that may be pairs.
    """
    kind = type(part).__name__
    for name, (low, high) in ends.items():
        value, number = (
            getattr(part, name),
            checked_share if name in SHARES else whole_number,
        )
        object.__setattr__(part, name, checked_range(f"{kind}.{name}", value, low, high, number))
    for name in flags:
        object.__setattr__(part, name, true_or_false(f"{kind}.{name}", getattr(part, name)))


def checked_range(
    name: str, value: Any, low: int, high: int, number: Callable[[str, Any, int, int], Any]
) -> Any:
    """Return ``value``, or both ends of a pair, as ``number`` reads them; errors name the value."""
    if not isinstance(value, (tuple, list)):
        try:
            return number(name, value, low, high)
        except TypeError as error:
            raise TypeError(f"{error}, or a pair (lowest, highest) of them") from None
    if len(value) != 2:
        raise ValueError(f"{name} is {shown(value)}; it must be a number, or a pair (lowest, highest)")
    lowest, highest = (number(f"{name}[{i}]", end, low, high) for i, end in enumerate(value))
    if lowest > highest:
        raise ValueError(
            f"{name} is ({lowest}, {highest}); the lowest must come first: ({highest}, {lowest})"
        )
    return lowest, highest


def checked_share(name: str, value: Any, low: float, high: float) -> float:
    """Return per cent in steps of 0.1, without a decimal where it is 0.

    Other shares raise ValueError, as bots would send something else, or nothing at all, in silence; what
    floats of 32 bits miss a step by is passed over.
    """
    number = round(given := finite_number(f"{name}, in per cent,", value, low, high), 1)
    if abs(number - given) > 1e-5:
        raise ValueError(f"{name}, in per cent, is {shown(value)}; it must have at most one decimal")
    return int(number) if number == int(number) else number


def check_name(what: str, name: Any) -> None:
    """Raise ValueError unless ``name`` can be the name of a bot; errors call the bot ``what``."""
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(
            f"{what} has the name {shown(name)}; it must be a string of 1 to {LONGEST_NAME} characters"
        )


def _check_text(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless ``value`` is a text for people to read."""
    check_type(name, value, str, "a string")
    if len(value) > _TEXT:
        raise ValueError(f"{name} has {len(value):,} characters; it must have at most {_TEXT:,}")


ALL = 100
"""A share, in per cent: the whole."""
MOST_A_CELL = 1_000_000
"""Troops a cell, and what conditions compare with."""

CONDITIONS: dict[str, int] = {
    "not_yet": t.NOT_YET,
    "killable": t.KILLABLE,
    "weaker_attacker": t.WEAKER_ATTACKER,
    "shrunk": t.SHRUNK,
    "thin": t.THIN,
    "swarmed": t.SWARMED,
    "hated": t.HATED,
    "weak_leader": t.WEAK_LEADER,
    "no_hunter": t.NO_HUNTER,
    "not_leader": t.NOT_LEADER,
}
"""What a target must be, by the names that files of styles have for it; ``Move.only`` is a sum of these."""

MEASURES: dict[str, int] = {
    "density": t.BY_DENSITY,
    "force": t.BY_FORCE,
    "distance": t.BY_DISTANCE,
    "attack": t.BY_ATTACK,
    "decline": t.BY_DECLINE,
    "grudge": t.BY_GRUDGE,
    "border": t.BY_BORDER,
    "least_land": t.BY_LEAST_LAND,
    "most_land": t.BY_MOST_LAND,
}
"""What the best target is, by the names that files of styles have for it: ``Move.by``."""

BOUNDS = Bounds(nbytes=2**16, values=2**10)
"""Of the file of a style."""

AS_FREE = "as_free"
"""What files of styles write for the share AS_FREE."""


class SettingRange(NamedTuple):
    """The range of a setting: seats draw a whole number from low to high, all equally likely."""

    low: int
    high: int


MOVES = ("first", "second", "third")
"""The fields of a style that are moves, in the order in which they are tried."""
_SHARE, _A_CELL = (0, ALL), (0, MOST_A_CELL)


@dataclass(frozen=True, kw_only=True)
class FreeLand:
    """How free land is taken.

    A number may be a pair, the lowest and the highest that a seat draws; every seat then draws its own.

    Args:
        send: per cent of the balance that are sent, 0 to 100 in steps of 0.1.
        later: what ``send`` becomes, by ``Style.opening`` or ``Style.fall``; default None: the same.
        surplus: troops a cell above which at least all is sent; 0 to 1000000, default 0: no such rule.
        tops_up: True: sends although a pool is there; default True.
        waits: True: attacks no player while there is free land at the border; default False.
        after_second: True: the second move goes before free land, too; default False.

    Raises:
        TypeError, ValueError: for a value that cannot be; the message names the field and its range.

    Example:
        >>> from territorial.bots import FreeLand
        >>> FreeLand(send=(10, 20.5)).later is None
        True

    """

    send: Share
    later: Share | None = None
    surplus: Range = 0
    tops_up: bool = True
    waits: bool = False
    after_second: bool = False

    def __post_init__(self) -> None:
        ends = {"send": _SHARE, "surplus": _A_CELL} | ({} if self.later is None else {"later": _SHARE})
        normalize(self, ends, ("tops_up", "waits", "after_second"))


@dataclass(frozen=True, kw_only=True)
class Move:
    """A way to attack players: its target, its time and its amount.

    A number may be a pair, the lowest and the highest that a seat draws; those of ``by``, ``else_by``,
    ``by_percent`` and ``only`` may not.

    Args:
        only: what a target must be, a sum of conditions of ``territorial.bots.targets``; default 0: anyone.
        limit: the number that those conditions compare with; 0 to 1000000, default 0.
        by: which target is best, a measure of ``territorial.bots.targets``; default ``BY_DENSITY``.
        else_by: the measure that is used instead of ``by`` at some decisions; default ``BY_DENSITY``.
        by_percent: per cent of the decisions at which ``by`` is used; 0 to 100, default 100.
        from_: troops a cell from which the move is made; 0 to 1000000, default 0.
        send: per cent of the balance that are sent, 0 to 100 in steps of 0.1, or ``AS_FREE`` of
            ``territorial.bots.settings``, those of free land; default 100.
        later: what ``send`` becomes, by ``Style.opening`` or ``Style.fall``; default None: the same.
        surplus: troops a cell above which at least all is sent; 0 to 1000000, default 0: no such rule.
        kill: per cent of what it takes to finish the target that are sent at most; 0 to 1000000, default 0:
            no such rule.
        spares: True: sends at most what kills a target that has less than an eighth of the own troops;
            default False.
        reserve: troops a cell that stay at home; 0 to 1000000, default 0.

    Raises:
        TypeError, ValueError: for a value that cannot be; the message names the field and its range.

    Example:
        >>> from territorial.bots import Move
        >>> from territorial.bots.targets import BY_FORCE
        >>> Move(by=BY_FORCE, send=40, reserve=60).from_
        0

    """

    only: int = 0
    limit: Range = 0
    by: int = BY_DENSITY
    else_by: int = BY_DENSITY
    by_percent: int = 100
    from_: Range = 0
    send: Share = ALL
    later: Share | None = None
    surplus: Range = 0
    kill: Range = 0
    spares: bool = False
    reserve: Range = 0

    def __post_init__(self) -> None:
        ends = dict.fromkeys(("limit", "from_", "surplus", "kill", "reserve"), _A_CELL)
        for name in ("send", "later"):
            if _is_as_free(getattr(self, name)):
                object.__setattr__(self, name, s.AS_FREE)
            elif name == "send" or self.later is not None:
                ends[name] = _SHARE
        normalize(self, ends, ("spares",))
        self._check_choice()

    def _check_choice(self) -> None:
        """Check the fields that choose the target, none of which may be a pair."""
        known = sum(CONDITIONS.values())
        where = "of territorial.bots.targets"
        measure = f"a measure {where}: {', '.join(f'BY_{name.upper()}' for name in MEASURES)}"
        for name, most, what in (
            ("only", known, f"a sum of conditions {where}: {', '.join(map(str.upper, CONDITIONS))}"),
            ("by", max(MEASURES.values()), measure),
            ("else_by", max(MEASURES.values()), measure),
            ("by_percent", 100, "a percentage"),
        ):
            try:
                number = whole_number(f"Move.{name}", getattr(self, name), 0, most)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{error}, {what}") from None
            object.__setattr__(self, name, number)


@dataclass(frozen=True, kw_only=True)
class Gift:
    """How troops are given to the ally that is most under attack, in games with teams.

    A number may be a pair, the lowest and the highest that a seat draws.

    Args:
        send: per cent of the balance that are given at a decision, 0.1 to 100 in steps of 0.1;
            default 12.5.
        limit: per cent of the ally's troops that others must have more of in the field against it; 0 to
            1000000, default 0: any attack will do.
        from_: own troops a cell from which something is given; 0 to 1000000, default 0.

    Raises:
        TypeError, ValueError: for a value that cannot be; the message names the field and its range.

    Example:
        >>> from territorial.bots import Gift
        >>> Gift().send
        12.5

    """

    send: Share = 12.5
    limit: Range = 0
    from_: Range = 0

    def __post_init__(self) -> None:
        normalize(self, {"send": (0.1, ALL), "limit": _A_CELL, "from_": _A_CELL})


@dataclass(frozen=True, kw_only=True)
class Style:
    """A bot as data: its name, its moves and its settings; the engine plays it in compiled code.

    It goes into ``seats`` like the name of a bot. Equal styles are one bot; in one batch, two different ones
    must have different names. A number may be a pair, the lowest and the highest that a seat draws.

    Args:
        name: what the bot is called, with a version by custom: ``"patient-1"``; 1 to 64 characters, and not
            the name of a bot of the library.
        interval: ticks from one decision to the next; 1 to 10000000.
        idea: what it does, for people to read; default "".
        weakness: how it can be beaten, for people to read; default "".
        opening: ticks after which shares are those of ``later``, and surpluses count; 0 to 10000000,
            default 0.
        fall: per cent of the balance by which shares sink with every launch, from ``send`` to ``later``; 0 to
            100 in steps of 0.1, default 0: they change after the opening instead.
        free: how free land is taken; default None: never.
        first: a move that is tried before free land; default None: no such move.
        second: a move that is tried after free land, or before it by ``FreeLand.after_second``; default
            None: no such move.
        third: a move that is tried last; default None: no such move.
        gives: what is given to allies, before all moves; default None: nothing. It is used with teams only.
        leader_share: per cent of all land from which the largest player is a leader; 0 to 100, default 0.
        forgives: one part in so many of every grudge is forgiven at a decision; 0 to 1000000, default 0: it
            holds none.
        at_random: True: any legal launch, holding nine times in ten, instead of moves; default False.
        jitter: thresholds and shares that are no pairs are drawn within so many per cent; 0 to 100,
            default 10.
        start: per cent of the starting troops that it has where handicaps are on; 0 to 100 in steps of
            0.1, default 100.

    Raises:
        TypeError, ValueError: for a value that cannot be; the message names the field and its range.

    Example:
        >>> import territorial
        >>> from territorial.bots import FreeLand, Move, Style
        >>> attack = Move(from_=100, send=30)
        >>> mine = Style(name="mine-1", interval=50, free=FreeLand(send=12), second=attack)
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4)
        >>> game = territorial.VecGame(config, num_games=2, seats=[mine, "banker", mine, "novice"])
        >>> observations = game.reset(seed=0)
        >>> game.seats_of(0)
        ('mine-1', 'banker-1', 'mine-1', 'novice-1')

    """

    name: str
    interval: Range
    idea: str = ""
    weakness: str = ""
    opening: Range = 0
    fall: Share = 0
    free: FreeLand | None = None
    first: Move | None = None
    second: Move | None = None
    third: Move | None = None
    gives: Gift | None = None
    leader_share: Range = 0
    forgives: int = 0
    at_random: bool = False
    jitter: int = 10
    start: float = ALL

    def __post_init__(self) -> None:
        check_name("a style", self.name)
        for name in ("idea", "weakness"):
            _check_text(f"Style.{name}", getattr(self, name))
        for name, kind in (("free", FreeLand), ("gives", Gift), *((name, Move) for name in MOVES)):
            wanted = f"a territorial.bots.{kind.__name__}, or None"
            check_type(f"Style.{name}", getattr(self, name), (kind, NoneType), wanted)
        ends = {"interval": (1, MOST_TICKS), "opening": (0, MOST_TICKS), "fall": _SHARE}
        normalize(self, ends | {"leader_share": (0, 100)}, ("at_random",))
        for name, most, number in (
            ("forgives", MOST_A_CELL, whole_number),
            ("jitter", 100, whole_number),
            ("start", ALL, checked_share),
        ):
            object.__setattr__(self, name, number(f"Style.{name}", getattr(self, name), 0, most))

    @property
    def digest(self) -> str:
        """16 hex digits that tell this style from all others."""
        text = json.dumps(self.to_dict(), sort_keys=True).encode()
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the style as values that JSON has: conditions and measures by their names.

        ``gives`` is only there where something is given: other styles keep the digest that they had.
        """
        values = dataclasses.asdict(self)
        if self.gives is None:
            del values["gives"]
        return values | {name: _named(values[name]) for name in MOVES if values[name] is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Style:
        """Return the style of :meth:`to_dict`; fields that have a default may be missing.

        ValueError or TypeError names the field that cannot be, or that there is not.
        """
        makers: dict[str, Any] = dict.fromkeys(MOVES, _move)
        makers |= {
            "free": partial(made_of, FreeLand, needed=("send",)),
            "gives": partial(made_of, Gift, needed=()),
        }
        given = values if isinstance(values, Mapping) else {}
        parts = {
            name: make(name, given[name]) for name, make in makers.items() if given.get(name) is not None
        }
        return made_of(cls, "a style", {**values, **parts} if given else values, ("name", "interval"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_dict` to a file as JSON, wholly or not at all; ``style:FILE`` names it."""
        write_file(path, f"{json.dumps(self.to_dict(), indent=2)}\n".encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Style:
        """Return the style in a file; ValueError names the file if there is none in it."""
        with raised_as(ValueError, f"there is no style in {os.fspath(path)!r}: ", (TypeError, ValueError)):
            return cls.from_dict(parse_object(read_file(path, BOUNDS.nbytes), BOUNDS))

    def settings(self) -> tuple[SettingRange, ...]:
        """Return the range of each setting of this style, in the order of columns."""
        table = dict.fromkeys(range(s.NUM_SETTINGS), SettingRange(0, 0)) | {
            s.INTERVAL: _exactly(self.interval),
            s.OPENING: self._about(self.opening),
            s.FALL: _exactly(self.fall, 10),
            s.KIND: _exactly(s.LAUNCHES_AT_RANDOM if self.at_random else s.DECIDES_BY_MOVES),
            s.LEADER_SHARE: self._about(self.leader_share),
            s.FORGIVES: _exactly(self.forgives),
        }
        if (free := self.free) is not None:
            table |= {
                s.FREE: self._share(free.send),
                s.FREE_LATER: self._share(free.send if free.later is None else free.later),
                s.FREE_SURPLUS: self._about(free.surplus),
                s.FREE_TOPS_UP: _exactly(free.tops_up),
                s.FREE_WAITS: _exactly(free.waits),
                s.FREE_AFTER_SECOND: _exactly(free.after_second),
            }
        if (gift := self.gives) is not None:
            table |= {
                s.GIFT: self._share(gift.send),
                s.GIFT_LIMIT: self._about(gift.limit),
                s.GIFT_FROM: self._about(gift.from_),
            }
        for number, name in enumerate(MOVES):
            if (move := getattr(self, name)) is not None:
                first = s.MOVES + number * s.MOVE_SIZE
                table |= {
                    first + s.ONLY: _exactly(move.only),
                    first + s.LIMIT: self._about(move.limit),
                    first + s.BY: _exactly(move.by),
                    first + s.ELSE_BY: _exactly(move.else_by),
                    first + s.BY_PERCENT: _exactly(move.by_percent),
                    first + s.FROM: self._about(move.from_),
                    first + s.SEND: self._share(move.send),
                    first + s.SEND_LATER: self._share(move.send if move.later is None else move.later),
                    first + s.SURPLUS: self._about(move.surplus),
                    first + s.KILL: self._about(move.kill),
                    first + s.SPARES: _exactly(move.spares),
                    first + s.RESERVE: self._about(move.reserve),
                }
        return tuple(table.values())

    def _share(self, value: Share) -> SettingRange:
        """Return the range of a share in thousandths; all remains all, and that of free land remains that."""
        if value in (ALL, s.AS_FREE):
            return _exactly(value, 10 if value == ALL else 1)
        return self._about(value, 10)

    def _about(self, value: Share, parts: int = 1) -> SettingRange:
        """Return the range of numbers within ``jitter`` per cent of ``value``, in so many parts of it."""
        low, high = _exactly(value, parts)
        spread = 0 if isinstance(value, tuple) else low * self.jitter // 100
        return SettingRange(low - spread, high + spread)


def _named(move: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a move, with conditions and measures by their names."""
    measures = {number: name for name, number in MEASURES.items()}
    shares = {name: AS_FREE for name in ("send", "later") if _is_as_free(move[name])}
    only = [name for name, bit in CONDITIONS.items() if move["only"] & bit]
    by = {name: measures[move[name]] for name in ("by", "else_by")}
    return move | shares | by | {"only": only}


def _move(what: str, values: Any) -> Move:
    """Return the move that the fields of ``_named`` describe."""
    if not isinstance(values, Mapping):
        return made_of(Move, what, values, ())
    numbers = {name: s.AS_FREE for name in ("send", "later") if values.get(name) == AS_FREE}
    for name in ("by", "else_by"):
        if name in values:
            numbers[name] = MEASURES[one_of(f"{what}.{name}", values[name], MEASURES)]
    if "only" in values:
        check_type(f"{what}.only", values["only"], (list, tuple), "a list of conditions")
        only = [CONDITIONS[one_of(f"{what}.only", name, CONDITIONS)] for name in values["only"]]
        if len(set(only)) < len(only):
            raise ValueError(f"{what}.only is {shown(values['only'])}; each must be there only once")
        numbers["only"] = sum(only)
    return made_of(Move, what, {**values, **numbers}, ())


def _is_as_free(share: Any) -> bool:
    return whole_or_none(share) == s.AS_FREE


def _exactly(value: Share, parts: int = 1) -> SettingRange:
    low, high = value if isinstance(value, tuple) else (value, value)
    return SettingRange(round(parts * low), round(parts * high))


for part_of_style in (FreeLand, Move, Gift, Style):
    part_of_style.__init__ = suggests_keywords(part_of_style.__init__)  # type: ignore[method-assign]
