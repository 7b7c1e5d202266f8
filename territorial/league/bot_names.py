"""Names of bots in leagues: those of this game, or any of another environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from territorial.config.validation import checked_list, shown

GAME = "territorial"
"""The environment whose bots the engine plays; ``LeagueConfig.env`` is it unless given."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def bots_of(env: str) -> Any:
    """Return what knows the bots of an environment: of this game a module of the engine's."""
    if env != GAME:
        return FreeNames
    from territorial.engine import league_bots  # leagues of other environments do without the engine

    return league_bots


class FreeNames:
    """Bots of an environment that is not this game: any names, whose objects leagues do not have."""

    @staticmethod
    def sorted_bots(bots: Any, custom: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Return the names of bots; ValueError for what is no name, or is given as an object."""
        if found := checked_list("python_bots", custom):
            raise ValueError(
                f"python_bots has {shown(found[0])}; it must be empty where env is not {GAME!r}. Name the "
                "bot in bots, and give its object to add_league"
            )
        names = tuple(dict.fromkeys(checked_list("bots", bots, str)))
        for i, name in enumerate(names):
            FreeNames.parsed(f"bots[{i}]", name)
        return names, ()

    @staticmethod
    def parsed(what: str, name: str) -> tuple[str, None]:
        """Return the name of a bot and no object; ValueError, which says that ``what`` has it, for none."""
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{what} is {shown(name)}; it must have 1 to 128 letters, digits, '-', '_' and '.'"
            )
        return name, None

    @staticmethod
    def by_text(bots: Sequence[Any], what: str) -> dict[str, Any]:
        """Return an empty dict: there are no objects."""
        return {}

    @staticmethod
    def full_name(name: str) -> str:
        """Return the name as it is."""
        return name

    short = written_name = full_name
