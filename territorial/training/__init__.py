"""Training without gradients: evolution of styles; and data sets for cloning."""

from territorial.training.dataset import Dataset
from territorial.training.evolve import evolve
from territorial.training.make_dataset import make
from territorial.training.manifest import DatasetError
from territorial.training.population import Evolution, EvolutionSettings, Generation

__all__ = ["Dataset", "DatasetError", "Evolution", "EvolutionSettings", "Generation", "evolve", "make"]
