"""Memory that this process has freed, and that the C library keeps for it."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


def give_back() -> bool:
    """Give free memory of this process back to the system, and return whether the C library can do that.

    glibc can, on Linux. By itself it keeps blocks of up to 32 MB that are freed among others, and those that
    PyTorch asks for often fit into none of them.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
    return trim is not None


@cache
def _malloc_trim() -> Any:
    """Return the function of glibc, or None with another C library."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # TypeError: on Windows a library needs a name
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return trim
