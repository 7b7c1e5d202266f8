"""The engine: a batch of games that plays its steps in compiled code."""

from typing import TYPE_CHECKING

from territorial._moved import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(
        __name__,
        "territorial.engine.vec_game",
        "territorial.engine.compiling",
        "territorial.engine.episode_seeds",
        "territorial.engine.saved_game",
    )
