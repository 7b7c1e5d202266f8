"""Training without gradients, or from recorded decisions: styles that evolve, and data sets to clone."""

from territorial.training.dataset import Dataset
from territorial.training.evolve import evolve
from territorial.training.make_dataset import make
from territorial.training.manifest import DatasetError
from territorial.training.population import Evolution, EvolutionSettings, Generation

__all__ = ["Dataset", "DatasetError", "Evolution", "EvolutionSettings", "Generation", "evolve", "make"]
