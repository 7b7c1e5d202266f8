"""Checkpoints: folders that are complete or absent after any crash.

The settings of a run, which stay as they began, are kept beside them.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from territorial._log import LOG
from territorial.config.validation import is_whole_number, raised_as, shown, whole_number
from territorial.files.atomic import cleared, own_file, own_folder, sync_folder, write_file
from territorial.files.bounded import Bounds, parse_object, read_file

CONTENTS = "contents.json"
"""Lists the files of a checkpoint, with their lengths and their digests (SHA-256)."""
BOUNDS = Bounds(nbytes=16 * 2**20, values=2**18)
"""Of that list, and of settings."""
_NAME = re.compile(r"checkpoint-([0-9]{8})")
_UNFINISHED = ".unfinished"


def keep_settings(path: Path, settings: Mapping[str, Any], what: str) -> None:
    """Write the settings with which a run or the like begins to the file ``path``, unless it is there.

    ValueError for a file of other settings, or of something else; ``what``: what errors call the run.
    """
    if not own_file(path).exists():
        write_file(path, (json.dumps(settings, indent=1) + "\n").encode())
    with raised_as(ValueError, f"{str(path)!r} does not hold the settings of a {what}: "):
        began = parse_object(read_file(path, BOUNDS.nbytes), BOUNDS)
    for name, value in settings.items():
        if began.get(name) != value:
            raise ValueError(
                f"{name} is {value!r}; the {what} in {str(path.parent)!r} began with "
                f"{shown(began.get(name))}. Use that value or another folder"
            )


class CheckpointError(OSError):
    """A checkpoint could not be written; earlier ones are unchanged."""


class DamagedCheckpointsError(ValueError):
    """No checkpoint is complete; the message names the gap in the newest one."""


class Checkpoints:
    """The checkpoints of a run, one folder each, ``checkpoint-00000012`` for step 12.

    One is written under another name and renamed when all of it is on the disk. It counts as complete as long
    as all of its files are there as they were written. One process writes; any number may read.

    Args:
        path: the folder of the checkpoints; made if it is not there.
        keep: how many are kept; older ones are removed once a newer one is complete.

    """

    def __init__(self, path: str | os.PathLike[str], keep: int = 2) -> None:
        self.keep = whole_number("keep", keep, 1)
        self.path = own_folder(Path(path).absolute())
        # Those whose files have been compared with their digests, and their lists of files.
        self._read: set[tuple[str, bytes]] = set()

    def steps(self) -> list[int]:
        """Return the steps of all checkpoints that are complete, in order."""
        return [step for step in self._named() if self._damage(self.at(step)) is None]

    def _named(self) -> list[int]:
        """Return the steps of all folders with the name of a checkpoint, in order."""
        names = [_NAME.fullmatch(name) for name in os.listdir(self.path)]
        return sorted(int(name[1]) for name in names if name)

    def at(self, step: int) -> Path:
        """Return the folder of the checkpoint of a step."""
        return self.path / f"checkpoint-{step:08d}"

    def latest(self, lacks: Callable[[Path], str | None] | None = None) -> Path | None:
        """Return the folder of the newest complete checkpoint, None if there is none at all.

        A line of the log names newer ones that are damaged. ``lacks(folder)`` says what else one lacks, such
        as a file elsewhere; default None: nothing else is needed. DamagedCheckpointsError if there are some
        and none is complete.
        """
        damaged = list[str]()
        for folder in map(self.at, reversed(self._named())):
            why = self._damage(folder) or (lacks(folder) if lacks else None)
            if not why:
                if damaged:
                    LOG.warning("%s; %s is taken", "; ".join(damaged), folder.name)
                return folder
            damaged.append(f"{folder.name}: {why}")
        if damaged:
            raise DamagedCheckpointsError(f"no checkpoint in {self.path} is complete: {'; '.join(damaged)}")
        return None

    def set_aside(self, step: int) -> None:
        """Give a checkpoint that cannot be used another name, in place of an earlier one of that name."""
        self.at(step).rename(cleared(self.path / f"damaged-{step:08d}"))

    def write(self, step: int, fill: Callable[[Path], None]) -> Path:
        """Return the folder of a new checkpoint, with the content that ``fill(folder)`` has put into it.

        CheckpointError if it cannot be written, such as for a full disk; the others are then as they were.
        FileExistsError if there is one of that step.
        """
        target, unfinished = self.at(whole_number("step", step, 0, 99_999_999)), self.path / _UNFINISHED
        if self._damage(target) is None:
            raise FileExistsError(f"{self.path} already has a checkpoint of step {step}")
        try:
            cleared(unfinished).mkdir()
            fill(unfinished)
            _seal(unfinished)
            unfinished.rename(cleared(target))  # what is there is not whole
            sync_folder(self.path)
        except OSError as error:
            with suppress(OSError):
                cleared(unfinished)
            is_full, steps = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), self.steps()
            kept = f"the last complete one is {self.at(steps[-1])}" if steps else "there is no earlier one"
            raise CheckpointError(
                error.errno,
                f"the checkpoint of step {step} could not be written to {self.path}: "
                f"{'the disk is full' if is_full else error}; {kept}",
            ) from error
        for old in self.steps()[: -self.keep]:
            leaving = cleared(self.path / f".leaving-{old:08d}")
            self.at(old).rename(leaving)  # under its name it is whole until it is gone
            shutil.rmtree(leaving, ignore_errors=True)
        return target

    def _damage(self, folder: Path) -> str | None:
        """Return the damage of a checkpoint; None if all files that it lists are as written.

        Digests are compared once; later on, lengths tell enough.
        """
        try:
            text = read_file(folder / CONTENTS, BOUNDS.nbytes)
            contents, is_read = parse_object(text, BOUNDS), (folder.name, text) in self._read
            if not contents:
                return f"{CONTENTS}: it lists no files"
            wrong = (_wrong(folder, name, about, is_read=is_read) for name, about in contents.items())
            if found := next(filter(None, wrong), None):
                return found
        except (OSError, ValueError) as error:
            return f"{CONTENTS}: {error.strerror if isinstance(error, OSError) else error}"
        self._read.add((folder.name, text))
        return None


def _wrong(folder: Path, name: str, about: Any, *, is_read: bool) -> str | None:
    """Return the damage of a file with the length and digest of ``about``; None if there is none."""
    size, digest = about if isinstance(about, list) and len(about) == 2 else (None, None)
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not is_whole_number(size, 0):
        return f"{CONTENTS}: it does not say what is in {shown(name)}"
    path = folder / parts
    if not path.is_file():
        return f"{shown(name)} is missing"
    if path.stat().st_size != size:
        return f"{shown(name)} has {path.stat().st_size:,} bytes; it must have {size:,}"
    if not is_read and _digest(path) != digest:
        return f"the content of {shown(name)} differs from what was written (SHA-256)"
    return None


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seal(folder: Path) -> None:
    """List the files of a folder in it, and have all of them, and the folders, written to the disk."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = {path.relative_to(folder).as_posix(): (path.stat().st_size, _digest(path)) for path in files}
    (folder / CONTENTS).write_text(json.dumps(contents, indent=1), encoding="utf-8")
    for path in [*files, folder / CONTENTS]:
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    for path in [*(path for path in folder.rglob("*") if path.is_dir()), folder]:
        sync_folder(path)
