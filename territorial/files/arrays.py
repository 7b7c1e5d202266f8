"""Arrays in foreign memory: mapped files and unpickled buffers."""

import copy
import ctypes
import mmap
import os
import sys
import weakref
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt


def mapped(file: IO[bytes], size: int) -> npt.NDArray[np.uint8]:
    """Return the first ``size`` bytes of an open file as a read-only array; ``size`` is 1 or more.

    Pages are read when they are first looked at. The array outlives the file object; it stays as it is
    when the file is removed, on Linux and macOS. Raises OSError where the system refuses.
    """
    return np.frombuffer(memoryview(_map(file, size)).toreadonly(), np.uint8)


def loaded(file: IO[bytes], size: int) -> npt.NDArray[np.uint8]:
    """Return the first ``size`` bytes of an open file as :func:`mapped` does, but in memory of this process.

    It begins at a line of the processor's cache. Bytes that the file lacks by now are 0.
    """
    room = np.zeros(size + 64, np.uint8)
    whole = room[-room.ctypes.data % 64 :][:size]
    file.seek(0)
    file.readinto(whole)  # type: ignore[attr-defined]  # of a buffered file
    whole.flags.writeable = False
    return whole


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


def writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``array``, or a copy of it if it lies in memory of another object that cannot be written to.

    From protocol 5 on, numpy unpickles arrays without a copy, and buffers out of band belong to the sender.
    """
    return array if array.flags.writeable and array.flags.aligned else array.copy()


class WritableArrays:
    """A base of classes that write to arrays of their own: a copy of any kind has others to write to."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, _own(value)) for name, value in state.items())


def _own(value: Any) -> Any:
    """Return an array, or a tuple of some, as :func:`writable` does, and anything else as it is."""
    if type(value) is tuple:
        return tuple(map(_own, value))
    return writable(value) if isinstance(value, np.ndarray) else value
