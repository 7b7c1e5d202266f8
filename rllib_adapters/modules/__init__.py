"""Modules: networks that learn, and the pool of frozen opponents."""

from territorial._moved import names_of

__getattr__ = names_of(__name__, "rllib_adapters.modules.board")
