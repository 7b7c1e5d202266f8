"""Whether files can be written, found out before there is anything to write."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise OSError, which names what is in the way, unless a file can be put at ``path``.

    A file that is there must allow it, and so must its folder, in which a new one is made beside it.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # such as /dev/null; opening a pipe would wait for a reader
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(target))
        return
    if target.exists():
        with open(target, "rb+"):
            pass
    check_folder(target.parent)


LOCKS = {".lock", ".writer"}
"""The names of the files that are locked in folders."""


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
    """Return an error as it would be of ``path``; those of libraries may have a text alone."""
    return OSError(error.errno or errno.EIO, error.strerror or str(error), os.fspath(path))


def own_file(path: Path) -> Path:
    """Return ``path``, a fixed name in a folder; OSError for a link, as what is outside would be written."""
    if path.is_symlink():
        raise OSError(
            errno.ELOOP, "it is a link; remove it, or what it points to would be written", str(path)
        )
    return path


def check_unused(folder: Path, names: Iterable[str], begun: str) -> None:
    """Raise FileExistsError if what is to be made in ``folder`` under ``names`` is there already.

    Where the file ``begun`` is, it is resumed. A folder in which there is nothing but locks is nothing.
    """
    if (folder / begun).exists():
        return
    for path in (folder / name for name in names):
        if set(os.listdir(path)) - LOCKS if path.is_dir() else os.path.lexists(path):
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
