"""``LEVELS``: the bots that a person can choose to play against, from easy to hard."""

from collections.abc import Mapping
from types import MappingProxyType

LEVELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "easy": ("very_easy-1", "easy-1"),
        "normal": ("normal-1", "hard-1"),
        "hard": ("hard-1", "very_hard-1", "impossible-1"),
        "champion": ("champion-1", "upstart-1", "impossible-1", "very_hard-1"),
    }
)
"""Bots by level, dealt in turn to the seats after the person's. ``handicap`` is on at all levels, so bots of
the library's levels begin with fewer troops than the person."""
