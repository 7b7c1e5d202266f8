"""Variation of styles: random, mutated and crossed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from territorial.bots.style import ALL, CONDITIONS, MEASURES, MOVES, SHARES, FreeLand, Move, Style


class Scale(NamedTuple):
    """The values that evolution tries for a number of a style; a style itself may have any others."""

    low: int
    high: int
    may_be_off: bool = False
    """Whether 0, which switches a rule off, is tried as well."""
    step: float = 1  # between two of the values


_SHARE = Scale(1, ALL, step=0.1)
_A_CELL = Scale(5, 150, may_be_off=True)
TIMING = {
    "interval": Scale(10, 300),
    "opening": Scale(50, 2500, may_be_off=True),
    "leader_share": Scale(5, 60, may_be_off=True),
    "forgives": Scale(2, 32, may_be_off=True),
}
FREE = {"send": _SHARE, "later": _SHARE, "surplus": _A_CELL}
MOVE = {
    "limit": Scale(5, 150),
    "by_percent": Scale(10, 100),
    "from_": _A_CELL,
    "send": _SHARE,
    "later": _SHARE,
    "surplus": _A_CELL,
    "kill": Scale(50, 400, may_be_off=True),
    "reserve": _A_CELL,
}
"""By the fields of a style and its parts: the numbers that vary."""
FLAGS: dict[type, tuple[str, ...]] = {FreeLand: ("tops_up", "waits", "after_second"), Move: ("spares",)}
MEASURED = ("by", "else_by")
"""The fields of a move that hold measures of targets."""

CHANGED, SPREAD = 0.25, 0.35
"""Share of the numbers that a variation changes, and the standard deviation of the factor's logarithm."""
FLIPPED = 0.08
"""How often a flag, a measure or a condition changes."""

Part = TypeVar("Part", Style, FreeLand, Move)


def random_style(name: str, rng: np.random.Generator) -> Style:
    """Return a style of which every setting is drawn; it has one move or two, and takes free land."""
    first = _random_move(rng) if rng.random() < 0.5 else None
    free, second = _drawn(FreeLand(send=0), FREE, rng), _random_move(rng)
    return _drawn(Style(name=name, interval=1, free=free, first=first, second=second, jitter=0), TIMING, rng)


def varied(style: Style, name: str, rng: np.random.Generator) -> Style:
    """Return a style that is a little different from ``style``."""
    parts: dict[str, Any] = {} if style.free is None else {"free": _varied(style.free, FREE, rng)}
    for which in MOVES:
        parts[which] = _varied_move(getattr(style, which), rng, may_begin=which != "third")
    return replace(_varied(style, TIMING, rng), name=name, jitter=0, **parts)


def plain(style: Style, name: str) -> Style:
    """Return a bot of the library as a style that can vary: pairs of numbers become their middles."""
    parts = {part: _without_pairs(getattr(style, part)) for part in ("free", *MOVES)}
    whole: Style = _without_pairs(style)
    return replace(whole, **parts, name=name, idea="", weakness="", jitter=0, start=ALL)


def crossed(one: Style, other: Style, name: str, rng: np.random.Generator) -> Style:
    """Return a style with each part taken from ``one`` or from ``other``."""
    fields = (*TIMING, "fall", "free", *MOVES)
    taken = {field: getattr(one if rng.random() < 0.5 else other, field) for field in fields}
    return replace(one, name=name, jitter=0, **taken)


# ---- parts -------------------------------------------------------------------------------------------


def _random_move(rng: np.random.Generator) -> Move:
    only = int(rng.choice([0, *CONDITIONS.values()])) if rng.random() < 0.5 else 0
    by, else_by = (int(rng.choice(list(MEASURES.values()))) for _ in MEASURED)
    return _drawn(Move(only=only, by=by, else_by=else_by), MOVE, rng)


def _drawn(part: Part, scales: Mapping[str, Scale], rng: np.random.Generator) -> Part:
    """Return a part with all numbers drawn, evenly by their logarithms, and all flags."""
    numbers: dict[str, Any] = {name: _random_number(scale, rng) for name, scale in scales.items()}
    flags: dict[str, Any] = {name: bool(rng.random() < 0.5) for name in FLAGS.get(type(part), ())}
    return replace(part, **numbers, **flags)


def _random_number(scale: Scale, rng: np.random.Generator) -> float:
    if scale.may_be_off and rng.random() < 0.3:  # so often it is off
        return 0
    return round(float(np.exp(rng.uniform(*np.log([scale.low, scale.high])))) / scale.step) * scale.step


def _varied(part: Part, scales: Mapping[str, Scale], rng: np.random.Generator) -> Part:
    """Return a part with some numbers moved and, rarely, a flag turned."""
    changes: dict[str, Any] = {
        name: _moved(getattr(part, name), scale, rng) for name, scale in scales.items()
    }
    for name in FLAGS.get(type(part), ()):
        changes[name] = getattr(part, name) != bool(rng.random() < FLIPPED)
    return replace(part, **changes)


def _moved(value: float | None, scale: Scale, rng: np.random.Generator) -> float | None:
    """Return a number that may have moved; one that is off, or not there, may come, and any may go off."""
    if value is None or value <= 0:
        return _random_number(scale, rng) if rng.random() < FLIPPED else value
    if scale.may_be_off and rng.random() < FLIPPED / 2:
        return 0
    if rng.random() >= CHANGED:
        return value
    factor, counted = float(np.exp(rng.normal(0, SPREAD))), round(value / scale.step)
    stepped = round(counted * factor) or 1
    stepped += int(np.sign(factor - 1)) if stepped == counted else 0
    return min(max(stepped * scale.step, scale.low), scale.high)


def _without_pairs(part: Any) -> Any:
    """Return a part with the middles of its pairs, of shares to a tenth; None for one that is not there."""
    if part is None:
        return None
    pairs = {name: pair for name, pair in vars(part).items() if isinstance(pair, tuple)}
    return replace(
        part,
        **{
            name: round(10 * sum(pair)) // 2 / 10 if name in SHARES else sum(pair) // 2
            for name, pair in pairs.items()
        },
    )


def _varied_move(move: Move | None, rng: np.random.Generator, *, may_begin: bool) -> Move | None:
    if rng.random() < 0.06 and (move is not None or may_begin):  # a move appears, disappears or is replaced
        return None if move is not None and rng.random() < 0.5 else _random_move(rng)
    if move is None:
        return None
    changes: dict[str, Any] = {}
    for name in MEASURED:
        if rng.random() < FLIPPED:
            changes[name] = int(rng.choice(list(MEASURES.values())))
    if rng.random() < FLIPPED:
        changes["only"] = move.only ^ int(rng.choice(list(CONDITIONS.values())))
    return _varied(replace(move, **changes), MOVE, rng)
