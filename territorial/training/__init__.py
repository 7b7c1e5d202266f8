"""Data sets: decisions of many games as arrays, for cloning and offline learning."""

from territorial.training.dataset import Dataset, DatasetError, make

__all__ = ["Dataset", "DatasetError", "make"]
