"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
from pathlib import Path

from territorial.locking import sync_folder


def write_file(path: Path, data: bytes) -> None:
    """Put ``data`` into a file, on the disk when this returns; what was there stays until all of it is.

    OSError, such as for a full disk, leaves the old file and nothing else.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
