"""Texts that name learned bots, givers and bots in files."""

from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from territorial.bots.network_bot import NETWORK, Network, network_of
from territorial.bots.python import PythonBot
from territorial.bots.style import Style
from territorial.bots.styles import GIVERS, GIVERS_ALIASES

FOLDER = Path(__file__).parent / "learned_files"


class LearnedBot(NamedTuple):
    """A learned bot of the library."""

    file: str
    """Within ``FOLDER``: that of a style ends in ``.json``, that of a network in ``.safetensors``."""
    idea: str
    """What it does."""
    weakness: str
    """How to beat it."""


LEARNED = MappingProxyType(
    {
        "upstart-1": LearnedBot(
            "upstart-1.json",
            "a style that was evolved against all bots at full size",
            "Have more troops a cell than its other neighbours: it only attacks the thinnest, never back.",
        ),
        "champion-1": LearnedBot(
            "champion-1.safetensors",
            "a network, trained by PPO in a league of all bots and its own past",
            "Attack it with others by tick 2,000, while it saves up; mazes and islands suit it least.",
        ),
    }
)
"""All learned ones by name, with their versions. A bot is never changed or removed."""

LEARNED_ALIASES = MappingProxyType({name.rpartition("-")[0]: name for name in LEARNED})
"""The newest version of each learned bot by its plain name."""


class LibraryNetwork(Network):
    """A network of the library, which has the same name wherever the library is installed."""

    def __init__(self, name: str) -> None:
        self._learned = name
        super().__init__(FOLDER / LEARNED[name].file)

    @cached_property
    def name(self) -> str:
        """Its name, with the version."""
        return self._learned

    @property
    def text(self) -> str:
        """Its name, which stands for it in ``seats``."""
        return self._learned

    def __reduce__(self) -> Any:
        return library_bot, (self._learned,)


def is_library_bot(name: Any) -> bool:
    """Return whether this is the name of a learned bot or a giver, with or without its version."""
    return isinstance(name, str) and (_full(name) in LEARNED or _full(name) in GIVERS)


def library_bot(name: str) -> Style | Network:
    """Return the learned bot or the giver of this name, with or without its version; it is read once."""
    return _read(_full(name))


def _full(name: str) -> str:
    return LEARNED_ALIASES.get(name) or GIVERS_ALIASES.get(name, name)


@cache
def _read(name: str) -> Style | Network:
    if name in GIVERS:
        return GIVERS[name]
    path = FOLDER / LEARNED[name].file
    return Style.load(path) if path.suffix == ".json" else LibraryNetwork(name)


STYLE = "style:"
"""What a text begins with that names the file of a style: ``style:mine.json``."""

# What writes the files, by what the texts that name them begin with.
_WRITERS = {STYLE: "Style.save", NETWORK: "PairPolicy.export"}

FILES = tuple(_WRITERS)
"""What texts begin with that name the file of a bot."""


def is_bot_file(text: Any) -> bool:
    """Return whether this text names a bot that is looked up: in a file of yours, or in the library."""
    return isinstance(text, str) and (text.startswith(FILES) or is_library_bot(text))


def bot_of_file(what: str, text: str) -> Style | Network:
    """Return the bot that ``style:FILE``, ``net:FILE`` or the name of a learned bot or giver stands for.

    ValueError, which says that ``what`` has this text, where the file cannot be read or has no such bot.
    """
    if is_library_bot(text):
        return library_bot(text)
    try:
        return network_of(text) if text.startswith(NETWORK) else Style.load(text.removeprefix(STYLE))
    except OSError as error:
        prefix = next(prefix for prefix in FILES if text.startswith(prefix))
        raise ValueError(
            f"{what} is {text!r}, whose file cannot be read: {error.strerror}; {prefix} is followed by the "
            f"path of a file that {_WRITERS[prefix]} wrote"
        ) from None


def written_name(bot: PythonBot | Style | Network) -> str:
    """Return the text for a custom bot in files: of a network the text that finds it, else its name."""
    return bot.text if isinstance(bot, Network) else bot.name
