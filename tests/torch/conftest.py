"""Weights and what is drawn follow from one seed, in whatever order tests run."""

import pytest


@pytest.fixture(autouse=True)
def seeded():
    """PyTorch begins every test with the same numbers."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra `torch` has it")
    torch.manual_seed(0)
