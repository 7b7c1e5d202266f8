"""Modules: networks that learn, and the pool of frozen opponents."""

from typing import TYPE_CHECKING

from territorial._moved import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(__name__, "rllib_adapters.modules.board")
