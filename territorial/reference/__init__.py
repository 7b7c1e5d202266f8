"""The reference implementation: the whole game in plain Python, written from the rules page alone.

It is the oracle the fast engine is compared with, and the place to read how a rule works in code.
It shares no code with the engine, so that the two cannot share a mistake.
"""

from territorial.reference.game import ReferenceGame
from territorial.reference.packing import pack_delta, pack_planes, pack_terrain
from territorial.reference.rng import H, mix
from territorial.reference.spawns import place_spawns

__all__ = ["H", "ReferenceGame", "mix", "pack_delta", "pack_planes", "pack_terrain", "place_spawns"]
