"""What several processes that change one folder need of the operating system: a lock on a file of it."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import sys
import tempfile
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
    """Another process has what only one may write to; ``holder`` says which."""

    def __init__(self, path: Path, holder: str) -> None:
        why = f"another process writes there ({holder}); wait until it has ended, or choose another place"
        super().__init__(errno.EAGAIN, why, str(path))
        self.holder = holder

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (Path(self.filename), self.holder)


@contextmanager
def one_writer(path: Path) -> Iterator[None]:
    """Be the only one who writes to what the file ``path`` stands for; the file says who that is.

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
            os.write(file, _HOLDER + f"{os.getpid()} on {socket.gethostname()}".encode())
        yield


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[int]:
    """Keep all others out, threads and processes, who lock the same file; it is made if it is not there.

    Gives its file descriptor. The system takes the lock back from a process that is stopped. BlockingIOError
    if another has it and one does not want to ``wait``; OSError if the file is a link. Where the file system
    has no locks, as that of some network homes, a file in the folder for temporary files is locked instead;
    that keeps out processes of this machine alone.
    """
    file = os.open(own_file(path), os.O_RDWR | os.O_CREAT, 0o666)
    with ExitStack() as held:
        held.callback(os.close, file)
        try:
            with naming(path):
                _lock(file, wait=wait)
            held.callback(_unlock, file)
        except OSError as error:
            instead = _on_this_machine(path)
            if error.errno not in MISSING or path.parent == instead.parent:
                raise
            held.enter_context(locked(instead, wait=wait))
        yield file


def _on_this_machine(path: Path) -> Path:
    """Return the temporary file that stands for ``path`` where that cannot be locked."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(path)), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir(), f"territorial-{name}.lock")
