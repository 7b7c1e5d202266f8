"""Who can play in a contest: bots of the engine, bots in Python and snapshots, by name."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from territorial import bots
from territorial.bots import PythonBot
from territorial.config import GameConfig
from territorial.engine.seats import EXTERNAL, Seat
from territorial.evaluation.policies import SNAPSHOT, MakePolicies


class Entrants:
    """The players of a contest by the names that records call them.

    A player is asked for as a bot of the engine (``banker``, ``banker-1``), as ``module:Class`` or
    as ``snapshot:NAME``. A class is a ``territorial.bots.PythonBot`` that can be made without arguments;
    ``make_policies`` loads snapshots for games of ``config``. Modules are looked for in the current folder
    too. ValueError says what is wrong with a player, SnapshotError with a snapshot.
    """

    def __init__(
        self, config: GameConfig, players: Sequence[str], make_policies: MakePolicies | None = None
    ) -> None:
        self._seats: dict[str, Seat] = {}
        self._made: dict[str, PythonBot] = {}
        self._snapshots: dict[str, str] = {}
        self.code: dict[str, str] = {}
        """Digests of the code of those in Python, by their names."""
        wanted = snapshots_of(players)
        if wanted and make_policies is None:
            raise ValueError(
                f"the player {SNAPSHOT + wanted[0]!r} is in a store of snapshots, but no store is given"
            )
        self.policies = make_policies(config, wanted) if wanted and make_policies else None
        """Who plays the seats of snapshots; None if there are none."""
        self.asked = tuple(players)
        """The players as they were asked for."""
        self.names = tuple(self._welcome(text) for text in self.asked)
        """Their names, in the same order."""

    def seats(self, names: Sequence[str]) -> list[Seat]:
        """Return what a ``VecGame`` takes for these names."""
        return [self._seats[name] for name in names]

    def snapshots(self, names: Sequence[str]) -> list[str | None]:
        """Return the snapshot that each of these is, None for all others."""
        return [self._snapshots.get(name) for name in names]

    def _welcome(self, text: str) -> str:
        if text.startswith(SNAPSHOT) and self.policies is not None:
            snapshot = text.removeprefix(SNAPSHOT)
            name = self.policies.name_of(snapshot)
            self._seats[name], self._snapshots[name] = EXTERNAL, snapshot
            return name
        if ":" not in text:
            name = bots.canonical(text)
            self._seats[name] = name
            return name
        bot = self._made.get(text) or python_bot(text)
        self._made[text] = bot
        if self._seats.setdefault(bot.name, bot) is not bot:
            raise ValueError(f"{text}: another player also has the name {bot.name!r}")
        self.code[bot.name] = code_digest(text, type(bot))
        return bot.name


def snapshots_of(players: Sequence[str]) -> list[str]:
    """Return the names of the snapshots among ``players``, each once."""
    return sorted({text.removeprefix(SNAPSHOT) for text in players if text.startswith(SNAPSHOT)})


def load(what: str, text: str) -> Any:
    """Return what ``module:name`` names; ValueError, which calls it ``what``, if there is none."""
    module_name, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return getattr(importlib.import_module(module_name), name)
    except Exception as error:  # whatever the module does when it is imported
        raise ValueError(f"the {what} {text!r} cannot be loaded: {type(error).__name__}: {error}") from error


def code_digest(text: str, loaded: Any) -> str:
    """Return 16 hex digits of the files of what ``module:name`` has loaded: its own, and of a bot its bases'.

    What these files import from others does not count.
    """
    kinds = [kind for kind in getattr(loaded, "__mro__", ()) if issubclass(kind, PythonBot)]
    names = {text.partition(":")[0], loaded.__module__, *(kind.__module__ for kind in kinds)}
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(names - {PythonBot.__module__}):
        file = getattr(sys.modules[name], "__file__", None)
        digest.update(b"" if file is None else Path(file).read_bytes())
    return digest.hexdigest()


def python_bot(text: str) -> PythonBot:
    """Return a new bot of the class that ``module:Class`` names; ValueError if none can be made."""
    kind = load("player", text)
    if not (isinstance(kind, type) and issubclass(kind, PythonBot)):
        raise ValueError(f"the player {text!r} is not a subclass of territorial.bots.PythonBot")
    try:
        bot = kind()
    except Exception as error:
        raise ValueError(
            f"the player {text!r} cannot be made without arguments: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(getattr(bot, "name", None), str) or bot.name in (*bots.NAMES, *bots.ALIASES):
        raise ValueError(
            f"the player {text!r} has the name {getattr(bot, 'name', None)!r}; it must be "
            "a string that is not the name of a bot of the engine"
        )
    return bot
