"""Data sets: decisions of many games as arrays, for cloning and offline learning."""

from territorial.training.dataset import Dataset, DatasetError
from territorial.training.make_dataset import make

__all__ = ["Dataset", "DatasetError", "make"]
