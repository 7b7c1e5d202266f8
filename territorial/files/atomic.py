"""Atomic writing of files, and checks that they can be written."""

import errno
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path

MISSING = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
"""Numbers of the errors of what a file system does not have."""


def new_name(path: str | os.PathLike[str]) -> str:
    """Return ``path``, with a number if there is a file of that name."""
    first = Path(path)
    names = chain([first], (first.with_name(f"{first.stem}-{number}{first.suffix}") for number in count(2)))
    return str(next(name for name in names if not os.path.lexists(name)))


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise OSError, which names the obstacle, unless a file can be written at ``path``.

    A file that is there must allow it, and so must its folder, in which a new one is made beside it.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # such as /dev/null; opening a pipe would wait for a reader
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(target))
        return
    _check_replaceable(target)
    check_folder(target.parent)


@contextmanager
def naming(path: str | os.PathLike[str], draft: Path | None = None) -> Iterator[None]:
    """Let an OSError within the block name ``path`` if it names no file, as for a full disk, or a draft."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename) == str(draft):
            raise _named(error, path) from error
        raise


def _named(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """Return an error as if it were of ``path``; errors of libraries may have only a text."""
    return OSError(error.errno or errno.EIO, error.strerror or str(error), os.fspath(path))


def own_file(path: Path) -> Path:
    """Return ``path``, a fixed name in a folder for a file; OSError if anything else lies there.

    Such as a link, as what is outside would be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise _in_the_way(path, "a file")
    return path


def own_folder(path: Path) -> Path:
    """Return ``path``, a folder that is made if nothing lies there; OSError if anything else does."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise _in_the_way(path, "a folder") from None
    return path


def cleared(path: Path) -> Path:
    """Return ``path``, a fixed name for a folder, once the folder there is removed; OSError as own_folder."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise _in_the_way(path, "a folder")
    if path.is_dir():
        shutil.rmtree(path)
    return path


def _in_the_way(path: Path, wanted: str) -> OSError:
    kinds = path.is_symlink() * ["a link"] + path.is_dir() * ["a folder"] + path.is_file() * ["a file"]
    why = f"it is {[*kinds, 'a pipe or a device'][0]}, where {wanted} is to be; move it away"
    return FileExistsError(errno.EEXIST, why, str(path))


def check_unused(folder: Path, names: Iterable[str], begun: str | None = None) -> None:
    """Raise FileExistsError if any of ``names`` exists in ``folder``.

    Where the file ``begun`` is, it is resumed. A folder in which there is nothing but locks is nothing.
    """
    if begun is not None and (folder / begun).exists():
        return
    for path in (folder / name for name in names):
        if set(os.listdir(path)) - {".lock", ".writer"} if path.is_dir() else os.path.lexists(path):
            why = "it is there already, and would be replaced; move it away, or choose another folder"
            raise FileExistsError(errno.EEXIST, why, str(path))


def check_folder(folder: Path) -> None:
    """Raise OSError unless new files can be made in ``folder``.

    By making one: permissions alone do not tell of disks that are mounted to be read.
    """
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _named(error, folder) from None  # not of that file


_numbers = count()


def write_file(path: str | os.PathLike[str], data: bytes | Iterable[bytes | memoryview]) -> None:
    """Put ``data``, which may come piece by piece, into a file, as :func:`draft_of` does."""
    with draft_of(path) as draft, open(draft, "wb") as file:
        file.writelines([data] if isinstance(data, bytes) else data)


@contextmanager
def draft_of(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a draft, to be written within the block; it becomes the file ``path`` at its end.

    By then its content is on the disk. If anything fails, as on a full disk, the file that was there stays as
    it was, the draft is removed, and an OSError names ``path``. Every call has a draft of its own, so that
    several threads and processes may write one file at once: that of one of them stays, whole. A link stays a
    link, and permissions stay. What is no ordinary file, such as /dev/stdout, is written to directly.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with naming(path):
            yield Path(path)
        return
    target = Path(os.path.realpath(path))
    # A name that nothing else uses, that no pattern such as *.png finds, and that fits any file system.
    number = f"{os.getpid()}-{threading.get_ident()}-{next(_numbers)}"
    draft = target.with_name(f".{target.name[:40]}.{number}.draft")
    try:
        with naming(path, draft):
            _check_replaceable(target)
            yield draft
            _put_in_place(draft, target)
    finally:
        with suppress(OSError):  # it is gone, or never was
            draft.unlink()


def _check_replaceable(target: Path) -> None:
    """Raise OSError for a file that may not be written to: its folder would let it be replaced even so."""
    if target.exists():
        with open(target, "rb+"):
            pass


def _put_in_place(draft: Path, target: Path) -> None:
    with open(draft, "rb+") as file:
        os.fsync(file.fileno())
    if target.exists() and target.stat().st_mode != draft.stat().st_mode:
        shutil.copymode(target, draft)
    os.replace(draft, target)
    with suppress(OSError):  # some file systems cannot; the file is whole either way
        sync_folder(target.parent)


def sync_folder(path: Path) -> None:
    """Have the entries of a folder written to the disk, if the file system can do that by itself."""
    if sys.platform == "win32":  # it keeps the entries of folders by itself
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        with naming(path):
            os.fsync(folder)
    except OSError as error:
        if error.errno not in MISSING:
            raise
    finally:
        os.close(folder)
