"""Data sets: the decisions of many games as arrays in files, for cloning and offline learning."""

from territorial.datasets.dataset import Dataset
from territorial.datasets.make import make
from territorial.datasets.manifest import DatasetError

__all__ = ["Dataset", "DatasetError", "make"]
