"""Bots that stand in files, learned ones and givers of the library, and the texts that name them."""

from __future__ import annotations

from typing import Any

from territorial.bots.by_name import is_library_bot, library_bot
from territorial.bots.network_bot import NETWORK, Network, network_of
from territorial.bots.python import PythonBot
from territorial.bots.style import Style

STYLE = "style:"
"""What a text begins with that names the file of a style: ``style:mine.json``."""

_WRITERS = {STYLE: "Style.save", NETWORK: "PairPolicy.export"}
"""What writes the files, by what the texts that name them begin with."""

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
    """Return what files call a custom bot: a network by the text with which it is found, others by name."""
    return bot.text if isinstance(bot, Network) else bot.name
