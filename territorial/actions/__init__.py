"""Actions: how they are encoded, read from a batch of agents, and masked."""

from territorial._moved import names_of

__getattr__ = names_of(__name__, "territorial.actions.encoding")
