"""A style: what tells one bot from another, as data, and the columns of settings that it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from territorial.bots import settings as s
from territorial.bots.targets import BY_DENSITY

Range = int | tuple[int, int]
"""A number, or the lowest and the highest of those that a seat may draw."""

WHOLE_START = 512
"""All of the starting troops, in the unit of ``Style.start``."""
ALL = 1000
"""A share of the balance: the whole of it."""


class SettingRange(NamedTuple):
    """What seats draw a setting from: every whole number from low to high, as likely as any other."""

    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class FreeLand:
    """How free land is taken; the numbers are those of the columns FREE... of territorial.bots.settings."""

    send: Range
    later: Range | None = None
    surplus: Range = 0
    tops_up: bool = True
    waits: bool = False
    after_second: bool = False


@dataclass(frozen=True, kw_only=True)
class Move:
    """A way to attack players; its numbers are the columns of a move in territorial.bots.settings."""

    only: int = 0
    limit: Range = 0
    by: int = BY_DENSITY
    else_by: int = BY_DENSITY
    by_percent: int = 100
    from_: Range = 0
    send: Range = ALL
    later: Range | None = None
    surplus: Range = 0
    kill: Range = 0
    spares: bool = False
    reserve: Range = 0


@dataclass(frozen=True, kw_only=True)
class Style:
    """A bot: its name with a version, what it does, how it is beaten, and its settings.

    ``first`` is looked at before free land, ``second`` (unless free land has ``after_second``) and ``third``
    after it. Every threshold and every share is drawn for a seat within ``jitter`` per cent of what stands
    here, or from between the two numbers of a pair. ``start``: 512ths of the starting troops that the bot
    has where handicaps are on.
    """

    name: str
    idea: str
    beaten_by: str
    interval: Range
    opening: Range = 0
    fall: Range = 0
    free: FreeLand | None = None
    first: Move | None = None
    second: Move | None = None
    third: Move | None = None
    leader_share: Range = 0
    forgives: int = 0
    at_random: bool = False
    jitter: int = 10
    start: int = WHOLE_START

    def settings(self) -> tuple[SettingRange, ...]:
        """Return what a seat of this style draws each of its settings from, in the order of columns."""
        table = dict.fromkeys(range(s.NUM_SETTINGS), SettingRange(0, 0))
        table.update(self._columns())
        return tuple(table[column] for column in range(s.NUM_SETTINGS))

    def _columns(self) -> Iterator[tuple[int, SettingRange]]:
        yield s.INTERVAL, _exactly(self.interval)
        yield s.OPENING, self._about(self.opening)
        yield s.FALL, _exactly(self.fall)
        yield s.KIND, _exactly(s.LAUNCHES_AT_RANDOM if self.at_random else s.DECIDES_BY_MOVES)
        yield s.LEADER_SHARE, self._about(self.leader_share)
        yield s.FORGIVES, _exactly(self.forgives)
        if self.free is not None:
            yield s.FREE, self._share(self.free.send)
            yield s.FREE_LATER, self._share(_or(self.free.later, self.free.send))
            yield s.FREE_SURPLUS, self._about(self.free.surplus)
            yield s.FREE_TOPS_UP, _exactly(self.free.tops_up)
            yield s.FREE_WAITS, _exactly(self.free.waits)
            yield s.FREE_AFTER_SECOND, _exactly(self.free.after_second)
        for number, move in enumerate((self.first, self.second, self.third)):
            if move is not None:
                for column, setting in self._move_columns(move):
                    yield s.MOVES + number * s.MOVE_SIZE + column, setting

    def _move_columns(self, move: Move) -> Iterator[tuple[int, SettingRange]]:
        yield s.ONLY, _exactly(move.only)
        yield s.LIMIT, self._about(move.limit)
        yield s.BY, _exactly(move.by)
        yield s.ELSE_BY, _exactly(move.else_by)
        yield s.BY_PERCENT, _exactly(move.by_percent)
        yield s.FROM, self._about(move.from_)
        yield s.SEND, self._share(move.send)
        yield s.SEND_LATER, self._share(_or(move.later, move.send))
        yield s.SURPLUS, self._about(move.surplus)
        yield s.KILL, self._about(move.kill)
        yield s.SPARES, _exactly(move.spares)
        yield s.RESERVE, self._about(move.reserve)

    def _share(self, value: Range) -> SettingRange:
        """Return the range of a share; all remains all, and that of free land remains that."""
        return _exactly(value) if value in (ALL, s.AS_FREE) else self._about(value)

    def _about(self, value: Range) -> SettingRange:
        """Return the range of numbers within ``jitter`` per cent of ``value``."""
        if isinstance(value, tuple):
            return SettingRange(*value)
        return SettingRange(value - value * self.jitter // 100, value + value * self.jitter // 100)


def _or(value: Range | None, otherwise: Range) -> Range:
    return otherwise if value is None else value


def _exactly(value: Range) -> SettingRange:
    return SettingRange(*value) if isinstance(value, tuple) else SettingRange(int(value), int(value))
