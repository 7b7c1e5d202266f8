"""Players of contests: built-in bots, custom bots and acting policies."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.bots import Program, PythonBot, Style
from territorial.bots.bot_files import bot_of_file, is_bot_file
from territorial.bots.program import PROGRAM, OnFailure
from territorial.config import GameConfig
from territorial.engine.seats import AGENT, CustomBot, Seat, is_built_in
from territorial.engine.vec_game import VecGame
from territorial.evaluation.code import code_of
from territorial.observation.layout import ObsLayout
from territorial.typing import Ints

SNAPSHOT = "snapshot:"
"""What the names of snapshots begin with on the command line, as in leagues: ``snapshot:main-12``."""

CHECKPOINT = "checkpoint:"
"""What names of modules in RLlib's checkpoints begin with: ``checkpoint:FOLDER[:MODULE]``."""
CHECKPOINTS = EntryPoint("CheckpointPolicy", "rllib_adapters:CheckpointPolicy", "territorial.players")
"""What reads them; it needs the extra "rllib", and is loaded where one is named."""

Act = Callable[[VecGame, Ints, Ints], npt.ArrayLike]
"""``act(game, games, seats)`` returns (N, 2) actions of seats, 1..P, of games of the batch ``game``."""


@runtime_checkable
class ActingPolicy(Protocol):
    """A policy that acts on observations, such as a network; it can be pickled.

    ``territorial.nets.players.SnapshotPolicy`` is one.
    """

    @property
    def frames(self) -> int:
        """Boards in a stack; an attribute does as well."""

    def identity(self) -> str:
        """Return a text that differs from other policies', and changes with the weights."""

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Act:
        """Return a function that chooses actions in games that begin now; ``seed`` seeds all its draws."""

    def stop(self) -> None:
        """Release memory until the next start."""


Distribution = Callable[[VecGame, Ints, Ints], npt.NDArray[np.floating[Any]]]
"""``distribution(game, games, seats)`` returns (N, P + 12): how likely each target is, then each fraction.

Those of the P + 2 targets add up to 1, and those of the ten fractions. What is not legal has 0.
"""


@runtime_checkable
class StochasticPolicy(ActingPolicy, Protocol):
    """A policy that can tell how likely its choices are."""

    def distribution(self, config: GameConfig, layout: ObsLayout) -> Distribution:
        """Return a function that gives the probabilities of actions of seats in such games."""


Player = str | CustomBot | ActingPolicy
"""A bot by name, ``module:Class``, ``style:FILE``, ``net:FILE`` or ``program:FILE``, ``checkpoint:FOLDER``,
a custom bot, or a policy that acts on observations."""


class Entrants:
    """The players of a contest by the names that records call them, which are checked.

    Args:
        asked: bots by name (``banker``, ``banker-1``), as ``module:Class``, ``style:FILE``, ``net:FILE`` or
            ``program:FILE``, modules as ``checkpoint:FOLDER``, custom bots, names of ``policies``, and
            policies that have a ``player_name`` or ``name``. A class is a ``territorial.bots.PythonBot`` that
            can be made without arguments; modules are looked for in the current folder too. One bot of a
            class has all its seats.
        policies: players by names of your choice.
        on_failure: of programs that are named, as of ``Program``; default "error".

    Raises:
        ValueError: for a player that there is not, or two of one name.
        TypeError: for what is no player.

    """

    def __init__(
        self,
        asked: Iterable[Player] = (),
        policies: Mapping[str, Player] | None = None,
        on_failure: OnFailure = "error",
    ) -> None:
        self.players: dict[str, Player] = {}
        """The players by their names: those of bots of the engine, custom bots, and policies."""
        self._policies, self._on_failure = policies or {}, on_failure
        self._found: dict[str, Seat | ActingPolicy] = {}
        self.names = tuple(self._welcome(i, player) for i, player in enumerate(asked))
        """The names of the players in the order in which they were asked for."""

    @property
    def code(self) -> dict[str, str]:
        """Digests of the code or weights of players that are not the library's, by name."""
        codes = {
            name: code_of(player) if isinstance(player, CustomBot) else identity_of(player)
            for name, player in self.players.items()
        }
        return {name: code for name, code in codes.items() if code != name}

    @property
    def sent(self) -> dict[str, Player]:
        """The players as processes get them: bots of modules by their texts, as not every bot can be sent."""
        by_object = ("__main__:", PROGRAM)
        made = {text: bot for text, bot in self._found.items() if not text.startswith(by_object)}
        texts = {id(bot): text for text, bot in made.items() if isinstance(bot, PythonBot)}
        return {name: texts.get(id(player), player) for name, player in self.players.items()}

    def _welcome(self, i: int, asked: Player) -> str:
        if isinstance(asked, str) and asked in self._policies:
            return self.enter(f"the policy {asked!r}", self._policies[asked], asked)
        return self.enter(f"player {i}", asked)

    def enter(self, what: str, asked: Player, name: str | None = None) -> str:
        """Add a player, called ``what`` in errors, and return its name: the given one or its own."""
        player = self._named(what, asked) if isinstance(asked, str) else asked
        if isinstance(player, Style) and is_built_in(player):
            player = player.name
        if name is None:
            own = getattr(player, "player_name", None) or getattr(player, "name", None)
            name = player if isinstance(player, str) else own
        if not isinstance(name, str) or not isinstance(player, (str, CustomBot, ActingPolicy)):
            raise TypeError(
                f"{what} is {asked!r}; it must be a bot or a policy, which has frames, identity, start, stop "
                "and a name, unless it is given one as in {'mine': policy}"
            )
        if name in ("", AGENT):
            raise ValueError(f"{what} has the name {name!r}; it must be a string other than {AGENT!r}")
        if name in bots.RESERVED_NAMES and player != named_bot(name):
            raise ValueError(f"{what}: {name!r} is the name of a built-in bot; choose another name")
        if self.players.setdefault(name, player) != player:
            raise ValueError(f"{what}: another player has the name {name!r}; names must be unique")
        return name

    def _named(self, what: str, text: str) -> Seat | ActingPolicy:
        if text not in self._found:
            try:
                self._found[text] = named_player(text, self._on_failure)
            except ValueError as error:
                raise ValueError(f"{what}: {error}") from error
        return self._found[text]


def is_acting(player: Any) -> TypeGuard[ActingPolicy]:
    """Return whether a player acts on observations: it is no bot and satisfies ``ActingPolicy``."""
    return not isinstance(player, (str, CustomBot)) and isinstance(player, ActingPolicy)


def in_games(player: Player) -> Seat | ActingPolicy:
    """Return the seat of a player in games: the bot of a text, the ``network`` of a policy, or itself.

    All others play themselves. To be asked where the games are, as a network is a file there.
    """
    made = named_player(player) if isinstance(player, str) else player
    return getattr(made, "network", None) or made


def identity_of(player: Player) -> str:
    """Return a text that tells a player from all others, also from namesakes with other code."""
    if isinstance(player, str):
        return player
    return f"{player.name}@{code_of(player)}" if isinstance(player, CustomBot) else player.identity()


def snapshots_of(players: Sequence[str]) -> list[str]:
    """Return the names of the snapshots among ``players``, each once."""
    return sorted({text.removeprefix(SNAPSHOT) for text in players if text.startswith(SNAPSHOT)})


def load(what: str, text: str) -> Any:
    """Return the object ``module:name``; ValueError, which calls it ``what``, if there is none."""
    module_name, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return getattr(importlib.import_module(module_name), name)
    except Exception as error:  # whatever the module does when it is imported
        raise ValueError(f"the {what} {text!r} cannot be loaded: {type(error).__name__}: {error}") from error


def named_player(text: str, on_failure: OnFailure = "error") -> Seat | ActingPolicy:
    """Return the bot or the module of a checkpoint that a text names, as :func:`named_bot` does."""
    if not text.startswith(CHECKPOINT):
        return named_bot(text, on_failure)
    given = text.removeprefix(CHECKPOINT)
    folder, _, module = given.rpartition(":")
    has_module = folder and Path(folder).is_dir() and not Path(given).is_dir()
    try:
        policy: ActingPolicy = CHECKPOINTS.load()(*((folder, module) if has_module else (given,)))
    except ImportError as error:
        needs = "pip install 'territorial-env[rllib]'"
        raise ValueError(f"the player {text!r} needs RLlib: {needs} ({error})") from None
    return policy


def named_bot(text: str, on_failure: OnFailure = "error") -> Seat:
    """Return the bot that a text names: the full name of one of the engine, or a custom bot.

    For texts of people alone: it runs programs and imports modules. ``on_failure`` is that of programs.
    """
    if text.startswith(SNAPSHOT):
        raise ValueError(f"the player {text!r} is in a store of snapshots; it must be a SnapshotPolicy")
    if text.startswith(CHECKPOINT):
        raise ValueError(
            f"the player {text!r} is for matches, evaluations and `territorial play`; here it must be a bot, "
            "such as net:FILE with what `policy_of(algorithm).export(FILE)` has written"
        )
    if is_bot_file(text):
        return bot_of_file("the player", text)
    if text.startswith(PROGRAM):
        return _checked_name(text, Program(text.removeprefix(PROGRAM), on_failure=on_failure))
    return python_bot(text) if ":" in text else bots.canonical(text)


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
    return _checked_name(text, bot)


def _checked_name(text: str, bot: PythonBot) -> PythonBot:
    if not isinstance(getattr(bot, "name", None), str) or bot.name in bots.RESERVED_NAMES:
        raise ValueError(
            f"the player {text!r} has the name {getattr(bot, 'name', None)!r}; it must be "
            "a string that is not the name of a built-in bot"
        )
    return bot
