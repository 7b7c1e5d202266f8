"""Locks of folders that several processes change, and syncing to disk.

Where a file system has no locks, as some network homes, who has made a file beside it has the lock.
"""

import errno
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from territorial.files.atomic import MISSING, naming, own_file

PATIENCE_S = 60.0
"""How long to wait for a process that cannot be looked for, before an error names its file."""

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


# How the text of such a file begins.
_HOLDER = b"process "


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
        except BlockingIOError as error:
            holder = path.read_text(encoding="utf-8") or "it has just begun"
            left = f"; if it is gone, remove {error.filename!r}" if error.filename != str(path) else ""
            raise InUseError(path, holder + left) from None
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
    if another has it and one does not want to ``wait``; OSError if the file is a link. Where there are no
    locks, a file serves instead.
    """
    file = os.open(own_file(path), os.O_RDWR | os.O_CREAT, 0o666)
    with ExitStack() as held:
        held.callback(os.close, file)
        if _has_locked(file, path, wait=wait):
            held.callback(_unlock, file)
        else:
            held.enter_context(_held(path.with_name(f"{path.name}.held"), wait=wait))
        yield file


def _has_locked(file: int, path: Path, *, wait: bool) -> bool:
    """Return whether the system has locked it; False if the file system has no locks."""
    try:
        with naming(path):
            _lock(file, wait=wait)
    except OSError as error:
        if error.errno not in MISSING:
            raise
        return False
    return True


# ---- without locks ---------------------------------------------------------------------------------


@contextmanager
def _held(path: Path, *, wait: bool) -> Iterator[None]:
    """Keep all others out by a file of this process, which it removes."""
    own = f"{this_process()}\n{_namespace()} {_beginning(os.getpid())}"
    holder, since = "", time.monotonic()
    while not _is_made(path, own):
        last, holder = holder, _text(path)
        since = since if last == holder else time.monotonic()
        process = _process_here(holder)
        if process is not None and _has_ended(*process):
            _remove(path, holder)
        elif not wait or (process is None and time.monotonic() - since >= PATIENCE_S):
            who = holder.partition("\n")[0] or "it has just begun"
            why = f"another process has it ({who}); if it is gone, remove this file"
            raise BlockingIOError(errno.EAGAIN, why, str(path))
        else:
            time.sleep(0.01)
    try:
        yield
    finally:
        _remove(path, own)


def _is_made(path: Path, text: str) -> bool:
    """Make a file with this text, and return whether that was possible; not if it is there."""
    try:
        with naming(path), open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    except BaseException:  # such as of a full disk: an empty file would keep all out
        path.unlink(missing_ok=True)
        raise
    return True


def _remove(path: Path, text: str) -> None:
    """Remove a file if it has this text: meanwhile, another process may have removed it and made its own."""
    aside = path.with_name(f"{path.name}-{os.getpid()}-{threading.get_ident()}")
    with suppress(FileNotFoundError):
        path.rename(aside)
        if _text(aside) != text:
            aside.rename(path)
        else:
            aside.unlink()


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1000)
    except FileNotFoundError:
        return ""


def this_process() -> str:
    """Return the identity of this process, as lock files have it."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def _process_here(holder: str) -> tuple[int, str] | None:
    """Return the number of a process and its beginning; None if it is one that cannot be looked for here."""
    found = re.fullmatch(r"process (\d+) on (.*)\n(.*) (\w*)", holder)
    is_here = found is not None and (found[2], found[3]) == (socket.gethostname(), _namespace())
    return (int(found[1]), found[4]) if found is not None and is_here and sys.platform != "win32" else None


def _has_ended(process: int, beginning: str) -> bool:
    """Return whether there is no such process, or one that began at another time."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it is another user's
        pass
    return _beginning(process) not in ("", beginning)


def _namespace() -> str:
    """Return which processes are to be seen: containers on one host may have their own, under its name."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:  # not Linux
        return ""


def _beginning(process: int) -> str:
    """Return when a process began, in units of the system's; "" where it does not say so."""
    try:
        fields = (
            Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
        )
    except OSError:
        return ""
    state, *others = fields.split()
    return "ended" if state in "ZX" else others[18]
