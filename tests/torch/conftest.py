"""Weights and what is drawn follow from one seed, in whatever order tests run."""

from tests.torch.reproducible import need, same_numbers_on_one_thread  # noqa: F401 - a fixture of all tests


def pytest_pycollect_makemodule():
    need("torch", "torch")
