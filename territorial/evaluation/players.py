"""Players that are compared: bots of the engine, custom bots, and policies that act on observations."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.bots import PythonBot, Style
from territorial.bots.bot_files import bot_of_file, is_bot_file
from territorial.config import GameConfig
from territorial.engine.seats import AGENT, CustomBot, Seat, is_built_in
from territorial.engine.vec_game import VecGame
from territorial.evaluation.code import code_digest, code_of
from territorial.observation.layout import ObsLayout
from territorial.typing import Ints

SNAPSHOT = "snapshot:"
"""What the names of snapshots begin with on the command line, as in a league table: ``snapshot:main-12``."""

Act = Callable[[VecGame, Ints, Ints], npt.ArrayLike]
"""``act(game, games, seats)`` returns (N, 2) actions of seats, 1..P, of games of the batch ``game``."""


@runtime_checkable
class Acting(Protocol):
    """A policy that acts on observations, such as a network; it can be pickled.

    ``territorial.nets.players.SnapshotPolicy`` is one.
    """

    @property
    def frames(self) -> int:
        """Boards in a stack; an attribute does as well."""

    def identity(self) -> str:
        """Return what tells this policy from all others, as when its weights change."""

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Act:
        """Return what chooses the actions in games that begin now; ``seed`` is of all it draws."""

    def stop(self) -> None:
        """Release what takes memory, until the next start."""


Distribution = Callable[[VecGame, Ints, Ints], npt.NDArray[np.floating[Any]]]
"""``distribution(game, games, seats)`` returns (N, P + 12): how likely each target is, then each fraction.

Those of the P + 2 targets add up to 1, and those of the ten fractions. What is not legal has 0.
"""


@runtime_checkable
class Stochastic(Acting, Protocol):
    """A policy that can tell how likely its choices are."""

    def distribution(self, config: GameConfig, layout: ObsLayout) -> Distribution:
        """Return what tells, for seats of such games, the probabilities that actions are drawn with."""


Player = str | CustomBot | Acting
"""A bot by name, ``module:Class``, ``style:FILE`` or ``net:FILE``, a custom bot, or a policy that acts on
observations."""


class Cast:
    """Players by their names, as a process needs them to play; other names are those of bots.

    A bot that is named as ``module:Class`` is made when it first plays, once for all its seats.
    """

    def __init__(self, players: Mapping[str, Player]) -> None:
        self._players = players
        self._made: dict[str, Seat] = {}

    def seat(self, name: str) -> Seat:
        """Return what a ``VecGame`` takes for a player."""
        player = self._players.get(name, name)
        if isinstance(player, CustomBot):
            return player
        if not isinstance(player, str):
            return AGENT
        if player not in self._made:
            self._made[player] = named_bot(player)
        return self._made[player]

    def policies(self, names: Iterable[str]) -> dict[str, Acting]:
        """Return those of ``names`` that act on observations."""
        found = {name: self._players.get(name) for name in sorted(set(names))}
        return {name: player for name, player in found.items() if is_acting(player)}


class Entrants:
    """The players of a contest by the names that records call them, which are checked.

    Args:
        asked: bots by name (``banker``, ``banker-1``), as ``module:Class``, ``style:FILE`` or ``net:FILE``,
            custom bots, names of ``policies``, and policies that have a ``player_name`` or ``name``. A class
            is a ``territorial.bots.PythonBot`` that can be made without arguments; modules are looked for in
            the current folder too.
        policies: players by names of your choice.

    Raises:
        ValueError: for a player that there is not, or two of one name.
        TypeError: for what is no player.

    """

    def __init__(self, asked: Sequence[Player], policies: Mapping[str, Player] | None = None) -> None:
        self.players: dict[str, Player] = {}
        """The players by their names."""
        self.code: dict[str, str] = {}
        """By the names of those that are not the library's, what tells their code or weights from others."""
        self._policies = dict(policies or {})
        check_players(self._policies)
        self._bots: dict[str, CustomBot] = {}
        self.names = tuple(self._welcome(i, player) for i, player in enumerate(asked))
        """The names of the players in the order in which they were asked for."""

    def _welcome(self, i: int, asked: Player) -> str:
        if isinstance(asked, str) and asked in self._policies:
            return self._enter(asked, self._policies[asked], asked)
        if isinstance(asked, str) and asked.startswith(SNAPSHOT):
            raise ValueError(f"the player {asked!r} is in a store of snapshots; it must be a SnapshotPolicy")
        if isinstance(asked, str) and is_bot_file(asked):
            asked = self._bot(asked)
        if isinstance(asked, Style) and is_built_in(asked):
            asked = asked.name
        if isinstance(asked, str):
            name = self._bot(asked).name if ":" in asked else bots.canonical(asked)
            return self._enter(name, asked if ":" in asked else name, asked)
        own = getattr(asked, "player_name", None) or getattr(asked, "name", None)
        if not isinstance(own, str) or not (isinstance(asked, CustomBot) or is_acting(asked)):
            raise TypeError(
                f"player {i} is {asked!r}; it must be a bot, a policy with a name, or a name of policies"
            )
        return self._enter(own, asked, own)

    def _enter(self, name: str, player: Player, asked: str) -> str:
        if name in bots.TAKEN and not _is_library_bot(name, player):
            raise ValueError(f"{asked}: a bot of the library has the name {name!r}; it must be another")
        if self.players.setdefault(name, player) != player:
            raise ValueError(f"{asked}: another player also has the name {name!r}")
        if (code := self._code(player)) != name:
            self.code[name] = code
        return name

    def _code(self, player: Player) -> str:
        """Return what tells a player from others of its name; of a bot of the library that is its name."""
        if isinstance(player, str) and is_bot_file(player):
            player = self._bot(player)
        if isinstance(player, CustomBot):
            return code_of(player)
        if isinstance(player, str):
            is_class = ":" in player
            return code_digest(player, type(self._bot(player))) if is_class else bots.canonical(player)
        return player.identity()

    def _bot(self, text: str) -> CustomBot:
        if text not in self._bots:
            self._bots[text] = custom_bot(text)
        return self._bots[text]


def is_acting(player: Any) -> TypeGuard[Acting]:
    """Return whether a player acts on observations: it is no bot and has what ``Acting`` has."""
    return not isinstance(player, (str, CustomBot)) and isinstance(player, Acting)


def check_players(players: Mapping[str, Player]) -> None:
    """Raise ValueError or TypeError for a name that cannot be, and for what is no player."""
    for name, player in players.items():
        if not isinstance(name, str) or not name or name == AGENT:
            raise ValueError(f"a policy has the name {name!r}; it must be a string other than {AGENT!r}")
        if isinstance(player, str):
            named_bot(player)
            if name in bots.TAKEN and not _is_library_bot(name, player):
                raise ValueError(f"the policy {name!r} is {player!r}; its name belongs to another bot")
        elif not isinstance(player, (CustomBot, Acting)):
            raise TypeError(
                f"the policy {name!r} is {player!r}; it must be a bot or have frames, identity, start, stop"
            )


def identity_of(player: Player) -> str:
    """Return what tells a player from all others, also from those of its name with other code."""
    if isinstance(player, str):
        player = named_bot(player)
    if isinstance(player, str):
        return player
    return f"{player.name}@{code_of(player)}" if isinstance(player, CustomBot) else player.identity()


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


def named_bot(text: str) -> Seat:
    """Return the bot that a text names: the full name of one of the engine, or a custom bot."""
    return custom_bot(text) if ":" in text or is_bot_file(text) else bots.canonical(text)


def sendable(players: Mapping[str, Player]) -> dict[str, Player]:
    """Return players with bots of the main module as objects: by name, no other process finds them there."""
    found = dict(players)
    for name, player in players.items():
        if isinstance(player, str) and player.startswith("__main__:"):
            found[name] = python_bot(player)
    return found


def _is_library_bot(name: str, player: Player) -> bool:
    """Return whether a player is the bot of the library with this name."""
    return (named_bot(player) if isinstance(player, str) else player) == named_bot(name)


def custom_bot(text: str) -> CustomBot:
    """Return the bot of ``module:Class``, ``style:FILE``, ``net:FILE`` or the name of a learned one."""
    return bot_of_file("the player", text) if is_bot_file(text) else python_bot(text)


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
    if not isinstance(getattr(bot, "name", None), str) or bot.name in bots.TAKEN:
        raise ValueError(
            f"the player {text!r} has the name {getattr(bot, 'name', None)!r}; it must be "
            "a string that is not the name of a bot of the engine"
        )
    return bot
