"""Evolution: styles of bots that are found by variation and selection, at the speed of the engine."""

from territorial.evolution.evolve import evolve
from territorial.evolution.population import Evolution, EvolutionSettings, Generation

__all__ = ["Evolution", "EvolutionSettings", "Generation", "evolve"]
