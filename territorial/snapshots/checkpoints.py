"""Checkpoints: folders that are there whole or not at all, whenever the process or the machine stops."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from territorial.config.validation import is_whole_number, whole_number
from territorial.files.bounded import read_file
from territorial.files.locks import sync_folder
from territorial.files.strict_json import Bounds, parse_object

CONTENTS = "contents.json"
"""Lists the files of a checkpoint and their lengths."""
BOUNDS = Bounds(nbytes=16 * 2**20, values=2**18)
"""Of that list."""
_NAME = re.compile(r"checkpoint-([0-9]{8})")
_UNFINISHED = ".unfinished"


class CheckpointError(OSError):
    """A checkpoint could not be written; those before it are as they were."""


class Checkpoints:
    """The checkpoints of a run, one folder each, ``checkpoint-00000012`` for step 12.

    One is written under another name and renamed when all of it is on the disk, so that a folder with such a
    name is complete. One process writes; any number may read.

    Args:
        path: the folder of the checkpoints; made if it is not there.
        keep: how many are kept; older ones are removed once a newer one is complete.

    """

    def __init__(self, path: str | os.PathLike[str], keep: int = 2) -> None:
        self.path = Path(path).absolute()
        self.keep = whole_number("keep", keep, 1)
        self.path.mkdir(parents=True, exist_ok=True)

    def steps(self) -> list[int]:
        """Return the steps of all checkpoints that are complete, in order."""
        names = [_NAME.fullmatch(name) for name in os.listdir(self.path)]
        return sorted(int(name[1]) for name in names if name and self._is_whole(self.path / name[0]))

    def at(self, step: int) -> Path:
        """Return the folder of the checkpoint of a step."""
        return self.path / f"checkpoint-{step:08d}"

    def latest(self) -> Path | None:
        """Return the folder of the newest complete checkpoint, None if there is none."""
        steps = self.steps()
        return self.at(steps[-1]) if steps else None

    def write(self, step: int, fill: Callable[[Path], None]) -> Path:
        """Return the folder of a new checkpoint, into which ``fill(folder)`` has put what belongs to it.

        CheckpointError if it cannot be written, such as for a full disk; the others are then as they were.
        FileExistsError if there is one of that step.
        """
        target, unfinished = self.at(whole_number("step", step, 0, 99_999_999)), self.path / _UNFINISHED
        if self._is_whole(target):
            raise FileExistsError(f"there is a checkpoint of step {step} in {self.path} already")
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            unfinished.mkdir()
            fill(unfinished)
            _seal(unfinished)
            shutil.rmtree(target, ignore_errors=True)  # what is there is not whole
            unfinished.rename(target)
            sync_folder(self.path)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise self._failure(step, error) from error
        for old in self.steps()[: -self.keep]:
            self._remove(old)
        return target

    def _failure(self, step: int, error: OSError) -> CheckpointError:
        """Return the error that says what has failed, and what is still there."""
        reason = (
            "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else str(error)
        )
        latest = self.latest()
        kept = f"the last complete one is {latest}" if latest else "there is no earlier one"
        return CheckpointError(
            error.errno,
            f"the checkpoint of step {step} could not be written to {self.path}: {reason}; {kept}",
        )

    def _remove(self, step: int) -> None:
        """Remove a checkpoint: under its name it is whole until it is gone."""
        leaving = self.path / f".leaving-{step:08d}"
        shutil.rmtree(leaving, ignore_errors=True)
        self.at(step).rename(leaving)
        shutil.rmtree(leaving, ignore_errors=True)

    @staticmethod
    def _is_whole(folder: Path) -> bool:
        """Return whether all files that a checkpoint lists are there with their lengths."""
        try:
            contents = parse_object(read_file(folder / CONTENTS, BOUNDS.nbytes), BOUNDS)
            return all(_has(folder, name, size) for name, size in contents.items())
        except (OSError, ValueError):
            return False


def _has(folder: Path, name: str, size: Any) -> bool:
    """Return whether there is a file of this name in a folder, and not elsewhere, with so many bytes."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not is_whole_number(size, 0):
        return False
    path = folder / parts
    return path.is_file() and path.stat().st_size == size


def _seal(folder: Path) -> None:
    """List the files of a folder in it, and have all of them, and the folders, written to the disk."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    (folder / CONTENTS).write_text(json.dumps(contents, indent=1), encoding="utf-8")
    for path in [*files, folder / CONTENTS]:
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    for path in [*(path for path in folder.rglob("*") if path.is_dir()), folder]:
        sync_folder(path)
