"""Free memory is given back to the system, where the C library can do that."""

import ctypes
import os
import sys

import numpy as np
import pytest

from territorial.memory import heap
from territorial.memory.measure import measure

HAS_GLIBC = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim")


def held():
    """Bytes of this process that are in no file."""
    (process,) = measure([os.getpid()]).processes
    return process.held


@pytest.mark.skipif(not HAS_GLIBC, reason="the C library is not glibc")
def test_what_lies_between_blocks_in_use_is_given_back():
    blocks = [np.ones(100_000, dtype=np.uint8) for _ in range(1000)]
    del blocks[::2]
    before = held()
    assert heap.give_back()
    assert held() < before - 30_000_000
    assert sum(int(block.sum()) for block in blocks) == 500 * 100_000, "what is in use stays"


def test_other_libraries_keep_what_they_keep(monkeypatch):
    def refuse(name):
        raise OSError(name)

    heap._malloc_trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    try:
        assert not heap.give_back()
    finally:
        heap._malloc_trim.cache_clear()
