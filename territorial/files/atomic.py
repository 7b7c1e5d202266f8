"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from territorial.files.locks import sync_folder
from territorial.files.writable import naming

_numbers = count()
_KEPT_OF_NAME = 40
"""Characters of its target's name in that of a draft, which must not become too long for a file system."""


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Put ``data`` into a file, as :func:`draft_of` does."""
    with draft_of(path) as draft:
        draft.write_bytes(data)


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
    draft = target.with_name(_draft_name(target.name))
    try:
        with naming(path, draft):
            _check_replaceable(target)
            yield draft
            _put_in_place(draft, target)
    finally:
        with suppress(OSError):  # it is gone, or never was
            draft.unlink()


def _draft_name(name: str) -> str:
    """Return a name that nothing else uses, and that no pattern such as ``*.png`` finds."""
    return f".{name[:_KEPT_OF_NAME]}.{os.getpid()}-{threading.get_ident()}-{next(_numbers)}.draft"


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
