"""A league in an algorithm: who plays, when snapshots are taken, where they are stored."""

from typing import TYPE_CHECKING

from territorial._moved import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(__name__, "rllib_adapters.league.callback", "rllib_adapters.configure")
