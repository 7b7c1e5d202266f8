"""Players of contests, which are bots and acting policies, and the digests that tell them apart."""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any, Protocol, TypeGuard, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.bots import Program, PythonBot, Style
from territorial.bots.bot_files import bot_of_file, is_bot_file
from territorial.bots.program import PROGRAM, OnFailure
from territorial.config import GameConfig
from territorial.config.validation import one_of
from territorial.engine.seats import AGENT, CompiledBot, CustomBot, Seat, is_built_in
from territorial.engine.vec_game import VecGame
from territorial.files.bounded import open_file
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
        one_of("on_failure", on_failure, get_args(OnFailure))
        self._policies, self._on_failure = policies or {}, on_failure
        self._found: dict[str, Seat | ActingPolicy] = {}
        self.names = tuple(self._register(i, player) for i, player in enumerate(asked))
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

    def _register(self, i: int, asked: Player) -> str:
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


# ---- digests ------------------------------------------------------------------------------------------


def code_of(bot: CustomBot) -> str:
    """Return a digest of the settings, weights or code of a bot, which tells it from its namesakes."""
    if isinstance(bot, CompiledBot):
        return bot.digest
    if isinstance(bot, Program):
        with open_file(bot.file) as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    kind = type(bot)
    return code_digest(f"{kind.__module__}:{kind.__name__}", kind)


def code_digest(text: str, loaded: Any) -> str:
    """Return 16 hex digits of the code of ``module:name``: its own and, for a bot, its bases'.

    The files in which it stands count, and not what they import from others. What was defined without a file,
    as in a notebook, counts as Python has compiled it, with all that it uses and that has no file either.
    """
    kinds = [kind for kind in getattr(loaded, "__mro__", ()) if issubclass(kind, PythonBot)]
    names = {text.partition(":")[0], loaded.__module__, *(kind.__module__ for kind in kinds)}
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(names - {PythonBot.__module__}):
        file = _file_of(name)
        digest.update(b"" if file is None else file.read_bytes())
    described = _CodeDescription()
    for kind in [loaded, *kinds]:
        if _has_no_file(kind):
            digest.update(repr(described.of(kind)).encode())
    return digest.hexdigest()


def _file_of(module: str) -> Path | None:
    """Return the file of a module; a module from stdin has none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file is not None and Path(file).is_file() else None


def _has_no_file(thing: Any) -> bool:
    """Return whether a class or function was defined in no file, and in no part of Python itself."""
    spec = getattr(sys.modules.get(thing.__module__), "__spec__", None)
    return _file_of(thing.__module__) is None and getattr(spec, "origin", None) not in ("built-in", "frozen")


class _CodeDescription:
    """Describes definitions without a file by texts and numbers, alike in every process."""

    def __init__(self) -> None:
        # The number of what was described, by its place in memory. It is kept with it, or something else
        # might come to lie there.
        self._seen: dict[int, tuple[int, Any]] = {}

    def of(self, value: Any) -> Any:
        """Return the description of a value, or for one that was described before its number."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return value
        value = inspect.unwrap(value) if callable(value) else value  # a compiled function, such as numba's
        if id(value) in self._seen:
            return "again", self._seen[id(value)][0]
        self._seen[id(value)] = len(self._seen), value
        parts = next(parts for kind, parts in _PARTS.items() if isinstance(value, kind))
        return type(value).__name__, *map(self.of, parts(value))


def _parts_of_class(kind: type) -> list[Any]:
    """Return its name, and its bases and all that it has where it was defined without a file."""
    if not _has_no_file(kind):
        return [kind.__module__, kind.__qualname__]
    own = {
        name: part
        for name, part in vars(kind).items()
        if name != "_abc_impl" and (isinstance(part, FunctionType) or not name.startswith("__"))
    }
    return [kind.__qualname__, kind.__bases__, own]


def _parts_of_function(function: Any) -> list[Any]:
    if not _has_no_file(function):
        return [function.__module__, function.__qualname__]
    code, known = function.__code__, function.__globals__
    used = {name: known[name] for name in sorted(_names_in(code)) if name in known}
    cells = [_contents(cell) for cell in function.__closure__ or ()]
    return [code, function.__defaults__, function.__kwdefaults__, cells, used]


def _contents(cell: CellType) -> tuple[Any, ...]:
    """Return the value of a variable of an outer function; nothing if it has not been set."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _parts_of_array(array: np.ndarray) -> list[Any]:
    """Return its type, shape and objects, or a digest of its numbers, which may be many."""
    own = array.tolist() if array.dtype.hasobject else hashlib.blake2b(array.tobytes()).digest()
    return [array.dtype.str, array.shape, own]


def _names_in(code: CodeType) -> set[str]:
    """Return the names that code uses, and the code within it."""
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def _parts_of_object(value: Any) -> list[Any]:
    """Return its name, if any, where its class stands in a file; else its class and all that it has."""
    if _has_no_file(type(value)):
        return [type(value), vars(value)]
    return [getattr(value, "__module__", ""), getattr(value, "__qualname__", "")]


_PARTS: Mapping[Any, Callable[[Any], Any]] = {
    type: _parts_of_class,
    FunctionType: _parts_of_function,
    CodeType: attrgetter("co_code", "co_consts", "co_names", "co_varnames", "co_flags", "co_exceptiontable"),
    property: attrgetter("fget", "fset", "fdel"),
    (staticmethod, classmethod): lambda value: (value.__func__,),
    np.ndarray: _parts_of_array,
    (set, frozenset): lambda value: sorted(repr(_CodeDescription().of(one)) for one in value),  # in no order
    Mapping: lambda value: chain.from_iterable(value.items()),
    (list, tuple): iter,
    object: _parts_of_object,
}
