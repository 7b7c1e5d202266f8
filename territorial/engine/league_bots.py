"""Bots of this game as leagues name them."""

from collections.abc import Iterable, Sequence
from typing import Any

from territorial import bots
from territorial.bots import full_name, short
from territorial.bots.bot_files import bot_of_file, is_bot_file, written_name
from territorial.config.validation import check_type, checked_list, hint, shown
from territorial.engine.seats import CustomBot, check_custom, is_same_bot, name_of, with_bots_of_files

__all__ = ["by_name", "by_text", "full_name", "parsed", "short", "sorted_bots", "taken", "written_name"]


def sorted_bots(given: Any, custom: Any) -> tuple[tuple[str, ...], tuple[CustomBot, ...]]:
    """Return the names of bots, and the custom ones among them.

    ``given``: names, custom bots and texts that name the files of such; ``custom``: further custom ones.
    """
    objects = checked_list("python_bots", custom)
    for i, bot in enumerate(objects):
        check_type(f"python_bots[{i}]", bot, CustomBot, "a custom bot")
    known = {bot.name for bot in objects}
    listed = (*with_bots_of_files(checked_list("bots", given), known, "bots"), *objects)
    for i, bot in enumerate(listed):
        check_type(f"bots[{i}]", bot, str | CustomBot, "of the type str, or a custom bot")
    found = [bot for bot in listed if isinstance(bot, CustomBot)]
    for bot in found:
        check_custom(bot)
    own = by_name(found)
    names = tuple(dict.fromkeys(map(name_of, listed)))
    for name in names:
        if name not in own:
            _check_library("bots has", name, name)
    return names, tuple(own.values())


def parsed(what: str, name: str) -> tuple[str, CustomBot | None]:
    """Return the name and the object of the bot ``name``; one of the engine has no object.

    ValueError, which says that ``what`` has it, for no bot.
    """
    if is_bot_file(name):
        bot = bot_of_file(what, name)
        check_custom(bot)
        return bot.name, bot
    _check_library(f"{what} is", f"bot:{name}", name)
    return name, None


def taken(given: Any) -> tuple[str, CustomBot] | None:
    """Return the name and the bot of a custom bot or of a text that names its file; None for all else.

    ValueError for a custom bot that cannot be.
    """
    bot = bot_of_file("a player", given) if is_bot_file(given) else given
    if not isinstance(bot, CustomBot):
        return None
    check_custom(bot)
    return bot.name, bot


def _check_library(what: str, text: str, name: str) -> None:
    """Raise ValueError unless ``name`` is that of a bot of the engine; ``what`` has the ``text``."""
    if name not in (*bots.NAMES, *bots.ALIASES):
        raise ValueError(
            f"{what} {shown(text)}{hint(name, bots.UNVERSIONED_NAMES)}; bots are "
            f"{', '.join(bots.UNVERSIONED_NAMES)}, and custom bots, which are given as objects or by their "
            "files"
        )


def by_text(given: Sequence[CustomBot | str], what: str) -> dict[str, CustomBot]:
    """Return custom bots by all their texts in files; ``what``: their name in errors."""
    found = with_bots_of_files(given, what=what)
    return {text: bot for bot in found for text in (bot.name, written_name(bot))}


def by_name(given: Iterable[CustomBot]) -> dict[str, CustomBot]:
    """Return custom bots by name; ValueError where two that differ have the same."""
    found: dict[str, CustomBot] = {}
    for bot in given:
        if not is_same_bot(found.setdefault(bot.name, bot), bot):
            raise ValueError(
                f"two custom bots are called {bot.name!r}; make one and use it everywhere, or give them "
                "names that differ"
            )
    return found
