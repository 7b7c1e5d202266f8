"""Styles of the library for games with teams: they give to allies under attack.

Each plays as the bot that it is made of where no ally needs help, and in all games without teams. So they are
not among the bots that fields are drawn from. A style is never changed or removed.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from territorial.bots.style import Gift, Style
from territorial.bots.styles import STYLES


def _giver(name: str, model: str, gives: Gift, idea: str, beaten_by: str) -> Style:
    (style,) = (style for style in STYLES if style.name == model)
    return replace(style, name=name, gives=gives, idea=idea, beaten_by=beaten_by)


GIVERS = MappingProxyType(
    {
        style.name: style
        for style in (
            _giver(
                "warden-1",
                "finisher-1",
                Gift(limit=25, from_=110),
                "a finisher that, once rich, gives an eighth to the ally that is most under attack",
                "Attack several of its allies at once, or itself: it helps one at a time.",
            ),
            _giver(
                "medic-1",
                "geographer-1",
                Gift(limit=25, from_=110),
                "a geographer that, once rich, gives an eighth to the ally that is most under attack",
                "Attack it before it is rich, or its ally with less than a quarter of the ally's troops.",
            ),
        )
    }
)
"""All of them by name, with their versions."""

GIVERS_ALIASES = MappingProxyType({name.rpartition("-")[0]: name for name in GIVERS})
"""The newest version of each by its plain name."""
