"""Bots of the library that are no rows of the engine's table: learned ones and givers, by their names."""

from __future__ import annotations

from typing import Any

from territorial.bots.givers import GIVERS, GIVERS_ALIASES
from territorial.bots.learned import is_learned, learned_bot
from territorial.bots.network_bot import Network
from territorial.bots.style import Style


def is_library_bot(name: Any) -> bool:
    """Return whether this is the name of a learned bot or a giver, with or without its version."""
    return is_learned(name) or (isinstance(name, str) and (name in GIVERS or name in GIVERS_ALIASES))


def library_bot(name: str) -> Style | Network:
    """Return the learned bot or the giver of this name, with or without its version."""
    return learned_bot(name) if is_learned(name) else GIVERS[GIVERS_ALIASES.get(name, name)]
