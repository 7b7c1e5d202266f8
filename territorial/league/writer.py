"""One writer a store: the run that holds it, as long as its process lives."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from territorial.files.locks import locked
from territorial.snapshots.errors import StoreInUseError

WRITER = ".writer"
"""The file in a store that its writer has locked; it says who that is."""


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the store in ``path`` as the one run that writes to it; others may read.

    Raises StoreInUseError if another run has it. The system frees the store of a process that has ended,
    however it ended.
    """
    file = path / WRITER
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(file, wait=False))
        except BlockingIOError:
            raise StoreInUseError(
                f"another run writes to the store {path} ({_holder(file)}); each run needs "
                "its own folder. Or end the other run first, with algorithm.stop() if it is in "
                "this process"
            ) from None
        file.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
        yield


def _holder(file: Path) -> str:
    """Return what the file says of who has it."""
    return file.read_text(encoding="utf-8") or "it has just begun"
