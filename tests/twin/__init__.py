"""The reference implementation: the whole game in plain Python, written from the rules page alone.

It is the oracle the fast engine is compared with, and the place to read how a rule works in code.
It shares no code with the engine, so that the two cannot share a mistake.
"""

from tests.twin.game import ReferenceGame
from tests.twin.packing import pack_delta, pack_planes, pack_terrain
from tests.twin.rng import H, mix
from tests.twin.spawns import place_spawns

__all__ = ["H", "ReferenceGame", "mix", "pack_delta", "pack_planes", "pack_terrain", "place_spawns"]
