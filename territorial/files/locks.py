"""Locks of folders that several processes change."""

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from territorial.files.atomic import MISSING, naming, own_file

if sys.platform == "win32":
    import msvcrt

    _PLACE = 2**30
    """The byte that is locked, behind all content: what is locked, no other process may read or write."""

    def _lock(file: int, *, wait: bool) -> None:
        os.lseek(file, _PLACE, os.SEEK_SET)
        while True:
            try:
                return msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError as error:
                if not wait:
                    raise BlockingIOError(errno.EAGAIN, error.strerror) from None
                # it gives up after ten seconds

    def _unlock(file: int) -> None:
        os.lseek(file, _PLACE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int, *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def finished_before_forks(lock: AbstractContextManager[Any]) -> None:
    """Let a fork wait until no other thread holds ``lock``, which is never released in the new process.

    Nor does that process come to see what is half done under the lock.
    """
    if hasattr(os, "register_at_fork"):
        release = partial(lock.__exit__, None, None, None)
        os.register_at_fork(before=lock.__enter__, after_in_parent=release, after_in_child=release)


_HOLDER = b"process "
"""How the text of such a file begins."""


class InUseError(BlockingIOError):
    """Another process, named by ``holder``, holds a lock."""

    def __init__(self, path: Path, holder: str) -> None:
        why = f"another process writes there ({holder}); wait until it has ended, or choose another place"
        super().__init__(errno.EAGAIN, why, str(path))
        self.holder = holder

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (Path(self.filename), self.holder)


@contextmanager
def one_writer(path: Path) -> Iterator[None]:
    """Hold the lock of the file ``path`` as its only writer; the file names the holder.

    The system frees it when the process ends, however it ends. InUseError, at once, if another has it.
    """
    with ExitStack() as held:
        try:
            file = held.enter_context(locked(path, wait=False))
        except BlockingIOError:
            raise InUseError(path, path.read_text(encoding="utf-8") or "it has just begun") from None
        with naming(path):
            os.lseek(file, 0, os.SEEK_SET)  # on Windows, the lock has moved it
            if os.read(file, len(_HOLDER)) not in (b"", _HOLDER):
                why = "it is no lock, and would be replaced; move it away"
                raise FileExistsError(errno.EEXIST, why, str(path))
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, this_process().encode())
        yield


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[int]:
    """Lock a file, which is created if it is missing, against all other threads and processes.

    Gives its file descriptor. The system takes the lock back from a process that is stopped. BlockingIOError
    if another has it and one does not want to ``wait``; OSError if the file is a link, and where the file
    system has no locks.
    """
    file = os.open(own_file(path), os.O_RDWR | os.O_CREAT, 0o666)
    with ExitStack() as held:
        held.callback(os.close, file)
        try:
            with naming(path):
                _lock(file, wait=wait)
        except OSError as error:
            if error.errno in MISSING:
                why = "this file system has no locks; choose a folder on another one, such as a local disk"
                raise OSError(error.errno, why, str(path)) from None
            raise
        held.callback(_unlock, file)
        yield file


def this_process() -> str:
    """Return the identity of this process, as lock files have it."""
    return f"process {os.getpid()} on {socket.gethostname()}"
