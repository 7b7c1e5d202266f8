"""Data sets: decisions of many games as arrays, for cloning and offline learning."""

from territorial.training.dataset import Dataset
from territorial.training.make_dataset import make
from territorial.training.manifest import DatasetError

__all__ = ["Dataset", "DatasetError", "make"]
