"""Bots: players compiled into the engine, and custom ones, data or Python.

``styles`` has those of the library as data, ``decide`` is how they choose, and docs/bots.md describes them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from territorial.bots.bot_files import LEARNED, LEARNED_ALIASES
from territorial.bots.decide import decide
from territorial.bots.network_bot import Network
from territorial.bots.program import Program, ProgramError
from territorial.bots.python import PythonBot, View
from territorial.bots.settings import INTERVAL, NUM_SETTINGS, draw_settings, first_wake
from territorial.bots.style import FreeLand, Gift, Move, Style
from territorial.bots.styles import GIVERS, GIVERS_ALIASES, STYLES
from territorial.bots.targets import HOLD_ALL
from territorial.config.validation import hint
from territorial.game.state import BOT_MEMORY
from territorial.jit.decorators import njit

__all__ = [
    "ALIASES",
    "COUNT",
    "GIVERS",
    "HOLD_ALL",
    "INTERVAL",
    "LEARNED",
    "NAMES",
    "RESERVED_NAMES",
    "UNVERSIONED_NAMES",
    "Bot",
    "FreeLand",
    "Gift",
    "Move",
    "Network",
    "Program",
    "ProgramError",
    "PythonBot",
    "Style",
    "View",
    "canonical",
    "decide",
    "draw_settings",
    "first_wake",
    "full_name",
    "make",
    "prepare",
    "short",
]

NAMES: tuple[str, ...] = tuple(style.name for style in STYLES)
"""The names of all bots of the engine with their versions, such as ``banker-1``, by their seat codes."""

COUNT = len(NAMES)
"""How many there are; the codes of bots in Python (territorial.bots.python) come after theirs."""

ALIASES: dict[str, str] = {name.rpartition("-")[0]: name for name in NAMES}
"""The newest version of every bot by its plain name: ``banker`` is ``banker-1`` until there is a next."""

UNVERSIONED_NAMES = (*ALIASES, *LEARNED_ALIASES, *GIVERS_ALIASES)
"""The plain names of all bots of the library, those of the engine, learned ones and givers."""

RESERVED_NAMES = frozenset((*NAMES, *LEARNED, *GIVERS, *UNVERSIONED_NAMES))
"""Names that no bot of yours can have."""

LOWS = np.array([[setting.low for setting in style.settings()] for style in STYLES], np.int64)
HIGHS = np.array([[setting.high for setting in style.settings()] for style in STYLES], np.int64)

if NUM_SETTINGS >= BOT_MEMORY:  # not an assertion: those can be switched off
    raise ValueError(f"there are {NUM_SETTINGS} settings; the memory of a bot holds {BOT_MEMORY} numbers")


@njit
def prepare(style: int, seed: Any, p: int, memory: Any) -> None:
    """The bot with code ``style`` sits down on seat ``p``: it knows its settings and nothing else."""
    draw_settings(LOWS[style], HIGHS[style], seed, p, memory)


def full_name(name: str) -> str:
    """Return the name of a bot of the library with its version, and every other name as it is."""
    return ALIASES.get(name) or LEARNED_ALIASES.get(name) or GIVERS_ALIASES.get(name, name)


def canonical(name: str) -> str:
    """Return the full name of the bot of the engine called ``name``, with or without its version.

    ValueError lists the names there are.
    """
    found = ALIASES.get(name, name)
    if found not in NAMES:
        there_are = ", ".join(UNVERSIONED_NAMES)
        raise ValueError(f"there is no bot {name!r}{hint(name, UNVERSIONED_NAMES)}; there are {there_are}")
    return found


def short(name: str) -> str:
    """Return the plain name of a bot for people to read, or the full one if there is a newer version."""
    plain = name.rpartition("-")[0]
    return plain if ALIASES.get(plain) == name else name


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot of the registry, by name."""

    name: str
    """With its version."""
    interval: int
    """Ticks from one decision to the next; the least, where seats differ."""
    idea: str
    """What it does."""
    weakness: str
    """How to beat it."""
    style: Style
    """Its settings."""


def make(name: str) -> Bot:
    """Return the bot called ``name``, with or without its version; ValueError lists the names there are."""
    style = STYLES[NAMES.index(canonical(name))]
    return Bot(style.name, style.settings()[INTERVAL].low, style.idea, style.weakness, style)
