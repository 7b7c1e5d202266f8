"""Heuristic players compiled into the engine: a seat of theirs costs no Python.

To add one: write a file like its neighbours here (NAME, INTERVAL in ticks, ``decide``), import it, and
give it a line in ``_STYLES`` and one in ``decide``. Names stay for ever, so that results stay
meaningful; a changed idea gets a new name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from territorial._jit import njit
from territorial.bots import banker, metronome, novice, random_launch, turtle
from territorial.bots.common import HOLD_ALL
from territorial.config import Params
from territorial.constants import STREAM_BOT_SETUP
from territorial.rng import draw_below
from territorial.rules import Work
from territorial.state import Game

_STYLES: tuple[Any, ...] = (random_launch, novice, metronome, banker, turtle)

NAMES: tuple[str, ...] = tuple(style.NAME for style in _STYLES)
"""The names of all bots, in the order of their seat codes."""

INTERVALS = np.array([style.INTERVAL for style in _STYLES], np.int64)
"""Ticks from one decision of each bot to its next."""

RANDOM, NOVICE, METRONOME, BANKER, TURTLE = range(len(_STYLES))


@njit
def decide(style: int, game: Game, params: Params, work: Work, p: int, memory: Any) -> tuple[int, int]:
    """Return the launch (target, 1024ths) of the bot on seat ``p`` whose turn to decide it is."""
    if style == RANDOM:
        return random_launch.decide(game, params, work, p, memory)
    if style == NOVICE:
        return novice.decide(game, params, work, p, memory)
    if style == METRONOME:
        return metronome.decide(game, params, work, p, memory)
    if style == BANKER:
        return banker.decide(game, params, work, p, memory)
    if style == TURTLE:
        return turtle.decide(game, params, work, p, memory)
    return HOLD_ALL, 0


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
