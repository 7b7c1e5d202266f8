"""Who can play in a contest: bots of the engine and bots in Python, by name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from territorial import bots
from territorial.bots import PythonBot
from territorial.seats import Seat


class Field:
    """The players of a contest by the names that records call them.

    A player is asked for as a bot of the engine (``banker``, ``banker-1``) or as ``module:Class``, a
    ``territorial.bots.PythonBot`` that can be made without arguments; the module is looked for in the
    current folder too. Whoever has a policy of another kind, such as a network, lets such a class play it.
    ValueError says what is wrong with a player.
    """

    def __init__(self, players: Sequence[str]) -> None:
        self._seats: dict[str, Seat] = {}
        self._made: dict[str, PythonBot] = {}
        self.asked = tuple(players)
        """The players as they were asked for."""
        self.names = tuple(self._welcome(text) for text in self.asked)
        """Their names, in the same order."""

    def seats(self, names: Sequence[str]) -> list[Seat]:
        """Return what a ``VecGame`` takes for these names."""
        return [self._seats[name] for name in names]

    @property
    def has_python(self) -> bool:
        """Whether any player is a bot in Python."""
        return any(isinstance(seat, PythonBot) for seat in self._seats.values())

    def _welcome(self, text: str) -> str:
        if ":" not in text:
            name = bots.canonical(text)
            self._seats[name] = name
            return name
        bot = self._made.get(text) or python_bot(text)
        self._made[text] = bot
        if self._seats.setdefault(bot.name, bot) is not bot:
            raise ValueError(f"{text}: another player has the name {bot.name!r} too")
        return bot.name


def python_bot(text: str) -> PythonBot:
    """Return a new bot of the class that ``module:Class`` names; ValueError if there is none."""
    module_name, _, class_name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        kind = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the player {text!r} cannot be loaded: {error}") from None
    if not (isinstance(kind, type) and issubclass(kind, PythonBot)):
        raise ValueError(f"the player {text!r} is no class of territorial.bots.PythonBot")
    bot = kind()
    if not isinstance(getattr(bot, "name", None), str) or bot.name in (*bots.NAMES, *bots.ALIASES):
        raise ValueError(
            f"the player {text!r} has the name {getattr(bot, 'name', None)!r}; it needs one of its own"
        )
    return bot
