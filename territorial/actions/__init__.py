"""Actions: how they are encoded, read from a batch of agents, and masked."""

from typing import TYPE_CHECKING

from territorial._moved import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(__name__, "territorial.actions.encoding")
