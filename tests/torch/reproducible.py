"""What tests of PyTorch share: the folder is skipped without it, and numbers are the same in every run."""

import pytest


def need(name, extra):
    """Skip whatever is collected or run now where the module ``name`` is not installed."""
    pytest.importorskip(name, reason=f"{name} is not installed: the extra `{extra}` has it")


@pytest.fixture(autouse=True)
def same_numbers_on_one_thread():
    """PyTorch begins every test with the same numbers, and no thread of it waits for another by counting."""
    import torch

    before = torch.get_num_threads()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
