"""Free memory is given back to the system, where the C library can do that."""

import ctypes
import sys

import pytest

from territorial.memory import measure as heap

HAS_GLIBC = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim")


@pytest.mark.skipif(not HAS_GLIBC, reason="the C library is not glibc")
def test_glibc_is_asked_to_keep_nothing(monkeypatch):
    kept, trim = [], heap._malloc_trim()
    assert trim(0) in (0, 1)  # it can be called: 1 where something was given back
    monkeypatch.setattr(heap, "_malloc_trim", lambda: kept.append)
    assert heap.give_back()
    assert kept == [0]


def test_other_libraries_keep_what_they_keep(monkeypatch):
    def refuse(name):
        raise OSError(name)

    heap._malloc_trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    try:
        assert not heap.give_back()
    finally:
        heap._malloc_trim.cache_clear()
