"""Memory of new tensors as it comes, where a seed asks for deterministic algorithms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.utils import deterministic


@contextmanager
def unfilled() -> Iterator[None]:
    """Let PyTorch not fill new tensors with NaN while the block runs.

    With a seed, RLlib asks PyTorch for deterministic algorithms. It then also fills whatever it allocates, to
    show code that reads what was never written. That takes a tenth of the time of a small network.
    """
    before = deterministic.fill_uninitialized_memory
    deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        deterministic.fill_uninitialized_memory = before
