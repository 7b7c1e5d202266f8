"""Bots of the library that were learned: who they are, and the files in which they stand.

A bot is never changed or removed, so that results stay meaningful. What is learned better gets a new name.
"""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from territorial.bots.network_bot import Network
from territorial.bots.style import Style

FOLDER = Path(__file__).parent / "learned_files"


class LearnedBot(NamedTuple):
    """What is known of a learned bot."""

    file: str
    """Within ``FOLDER``: that of a style ends in ``.json``, that of a network in ``.safetensors``."""
    idea: str
    """What it does."""
    beaten_by: str
    """How to beat it."""


LEARNED = MappingProxyType(
    {
        "upstart-1": LearnedBot(
            "upstart-1.json",
            "a style that was evolved against all bots at full size",
            "Keep many troops a cell: it attacks those that are thin, and grows faster than most.",
        ),
        "champion-1": LearnedBot(
            "champion-1.safetensors",
            "a network, trained by PPO in a league of all bots and its own past",
            "Save as it does, and finish players that others have worn down; mazes suit it least.",
        ),
    }
)
"""All of them by name, with their versions."""

LEARNED_ALIASES = MappingProxyType({name.rpartition("-")[0]: name for name in LEARNED})
"""The newest version of each by its plain name."""


class LibraryNetwork(Network):
    """A network of the library, which has the same name wherever the library is installed."""

    def __init__(self, name: str) -> None:
        self._learned = name
        super().__init__(FOLDER / LEARNED[name].file)

    @cached_property
    def name(self) -> str:
        """What it is called, with its version."""
        return self._learned

    @property
    def text(self) -> str:
        """Its name, which stands for it in ``seats``."""
        return self._learned

    def __reduce__(self) -> Any:
        return learned_bot, (self._learned,)


def is_learned(name: Any) -> bool:
    """Return whether this is the name of a learned bot, with or without its version."""
    return isinstance(name, str) and (name in LEARNED or name in LEARNED_ALIASES)


def learned_bot(name: str) -> Style | Network:
    """Return the learned bot of this name, with or without its version; it is read once."""
    return _read(LEARNED_ALIASES.get(name, name))


@cache
def _read(name: str) -> Style | Network:
    path = FOLDER / LEARNED[name].file
    return Style.load(path) if path.suffix == ".json" else LibraryNetwork(name)
