"""The engine: a batch of games that plays its steps in compiled code."""

from territorial._moved import names_of

__getattr__ = names_of(__name__, "territorial.engine.vec_game")
