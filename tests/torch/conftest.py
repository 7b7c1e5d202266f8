"""Weights and what is drawn follow from one seed, in whatever order tests run."""

import pytest


@pytest.fixture(autouse=True)
def same_numbers_on_one_thread():
    """PyTorch begins every test with the same numbers, and no thread of it waits for another by counting."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra `torch` has it")
    before = torch.get_num_threads()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
