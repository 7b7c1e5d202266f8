"""Heuristic players compiled into the engine: a seat of theirs costs no Python.

To add one: write a file like its neighbours here (NAME, INTERVAL in ticks, ``decide``), import it and add
it at the end of ``_STYLES``. Names stay for ever, so that results stay meaningful; a changed idea gets
a new name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from territorial._jit import njit
from territorial.bots import banker, metronome, novice, random_launch, turtle
from territorial.bots.common import HOLD_ALL
from territorial.constants import STREAM_BOT_SETUP
from territorial.rng import draw_below

_STYLES: tuple[Any, ...] = (random_launch, novice, metronome, banker, turtle)

NAMES: tuple[str, ...] = tuple(style.NAME for style in _STYLES)
"""The names of all bots, in the order of their seat codes."""

INTERVALS = np.array([style.INTERVAL for style in _STYLES], np.int64)
"""Ticks from one decision of each bot to its next."""


def _dispatcher() -> Any:
    """Return ``decide(style, game, params, p, memory)``, which calls the bot of that code.

    It is written out as one function with a branch per bot: numba cannot index functions of several
    types, and a chain of closures takes longer to compile with every bot.
    """
    arguments = "game, params, p, memory"
    lines = [f"def decide(style, {arguments}):"]
    for code in range(len(_STYLES)):
        lines += [f"    if style == {code}:", f"        return decide_{code}({arguments})"]
    lines += ["    return HOLD_ALL, 0"]
    names: dict[str, Any] = {f"decide_{code}": style.decide for code, style in enumerate(_STYLES)}
    names["HOLD_ALL"] = HOLD_ALL
    exec("\n".join(lines), names)
    return njit(names["decide"])


decide: Any = _dispatcher()
"""The launch (target, 1024ths) of the bot with code ``style`` on seat ``p``, whose turn to decide it is."""


@njit
def first_wake(style: int, seed: Any, p: int) -> int:
    """Return the tick of a bot's first decision: a phase of its clock drawn from the game's seed."""
    return draw_below(INTERVALS[style], seed, STREAM_BOT_SETUP, p, 0)


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot by name: what the registry knows about it."""

    name: str
    interval: int
    """Ticks from one decision to the next."""
    idea: str
    """What it does and how to beat it."""


def make(name: str) -> Bot:
    """Return the bot called ``name``; ValueError lists the names there are."""
    if name not in NAMES:
        raise ValueError(f"there is no bot {name!r}; there are {', '.join(NAMES)}")
    style = _STYLES[NAMES.index(name)]
    return Bot(name, style.INTERVAL, (style.__doc__ or "").strip())
