"""A file as an array that lives in the page cache: one copy for all processes of the machine."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from typing import IO, Any

import numpy as np
import numpy.typing as npt


def mapped(file: IO[bytes], size: int) -> npt.NDArray[np.uint8]:
    """Return the first ``size`` bytes of an open file as a read-only array; ``size`` is 1 or more.

    Pages are read when they are first looked at. The array outlives the file object; it stays as it is
    when the file is removed, on Linux and macOS. Raises OSError where the system refuses.
    """
    return np.frombuffer(memoryview(_map(file, size)).toreadonly(), np.uint8)


if sys.platform == "win32":

    def _map(file: IO[bytes], size: int) -> Any:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

else:
    # Before Python 3.13 a mapping of the module mmap keeps a file descriptor open, and a process may
    # have as few as 256 of those: less than a league has snapshots.
    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    _libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    _FAILED = ctypes.c_void_p(-1).value

    def _map(file: IO[bytes], size: int) -> Any:
        address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
        if address == _FAILED:
            code = ctypes.get_errno()
            raise OSError(code, f"cannot be mapped: {os.strerror(code)}", file.name)
        buffer = (ctypes.c_ubyte * size).from_address(address)
        # Not at exit: arrays may still be looked at by then, and the system unmaps everything anyway.
        weakref.finalize(buffer, _libc.munmap, address, size).atexit = False
        return buffer
