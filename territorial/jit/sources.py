"""What a kernel is compiled from: the file that it stands in, and all that this file reaches by imports.

A kernel holds the code of the functions that it calls, and the values of globals. Each of these is made in
the module of the kernel, or has come there by an import. So what can change machine code are the files to
which imports lead from the kernel's own file. An edit of any other file leaves it as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import sysconfig
import time
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(rb"import[ \t]*(\((?:[^)#]|#[^\n]*)*\)|[ \t](?:[^\n;\\]|\\\r?\n)*)")
_BEFORE = re.compile(rb"(?:.*[:;])?[ \t]*(?:from[ \t]*([.\w]+)[ \t]*)?")
"""What stands in a line before ``import``. To parse the files takes thirty times as long as to find this."""
_NO_NAME = re.compile(r"#[^\n]*|[()\\]")
_STANDARD_LIBRARY = os.path.realpath(sysconfig.get_path("stdlib")) + os.sep
_INSTALLED = {"site-packages", "dist-packages"}


class _SourceFile(NamedTuple):
    state: tuple[int, int] | None
    """Time and size when it was read; None if it may be newer than the code in this process."""
    digest: bytes
    imported: tuple[str, ...]
    """Paths of the files that it imports."""
    inits: tuple[str, ...]
    """Paths of the ``__init__`` of the packages in which it lies."""


class Sources:
    """The files of ``package``, and those of kernels elsewhere, as they are when they are first read.

    That is while kernels are defined, just after Python has read them. A file that was edited after
    ``started``, in nanoseconds, is not known to have the code that runs in this process: Python may have
    read it before. The exception is the file in which a kernel is defined, which Python has just read.
    """

    def __init__(self, package: Path = PACKAGE, started: int | None = None) -> None:
        self._top = package.name
        self._package = os.path.realpath(package)
        self._root = os.path.dirname(self._package)
        self._started = time.time_ns() if started is None else started
        self._files: dict[str, _SourceFile] = {}
        self._found: dict[tuple[str, str], str | None] = {}

    def digest(self, file: str) -> str | None:
        """Return a name of what kernels in ``file`` are compiled from, wherever that lies.

        None if a file can have changed since this process has its code.
        """
        reached = self.reached_from(file)
        if not all(self._is_as_read(path) for path in reached):
            return None
        digest = hashlib.blake2b(digest_size=8)
        for name, path in sorted((self._name(path), path) for path in reached):
            digest.update(name.encode() + b"\0" + self._files[path].digest)
        return digest.hexdigest()

    def reached_from(self, file: str) -> set[str]:
        """Return ``file`` and all files whose code or constants its kernels can have; OSError if one is lost.

        The packages in which these lie count with their ``__init__``, as it is run. What that imports
        counts only where one of the files imports the package itself.
        """
        own = _resolved(file)
        self._file(own, defines_kernels=True)
        reached: set[str] = set()
        to_follow = [own]
        while to_follow:
            path = to_follow.pop()
            if path not in reached:
                reached.add(path)
                to_follow += self._file(path).imported
        inits = {init for path in reached for init in self._file(path).inits}
        for path in inits:
            self._file(path)
        return reached | inits

    def _file(self, path: str, *, defines_kernels: bool = False) -> _SourceFile:
        file = self._files.get(path)
        if file is None:
            state = _state(path)
            content = Path(path).read_bytes()
            is_newer = not defines_kernels and self._started < state[0] <= time.time_ns()
            imported = {self._module(path, *names) for names in set(_imports(path, content))}
            around = (os.path.join(folder, "__init__.py") for folder in Path(path).parents)
            file = self._files[path] = _SourceFile(
                None if is_newer else state,
                _digest(content),
                tuple(filter(None, imported)),
                tuple(takewhile(os.path.isfile, around)),
            )
        return file

    def _is_as_read(self, path: str) -> bool:
        file = self._files[path]
        if file.state is None:
            return False
        return _state(path) == file.state or _digest(Path(path).read_bytes()) == file.digest

    def _is_ours(self, path: str) -> bool:
        return path.startswith(self._package + os.sep)

    def _name(self, path: str) -> str:
        """Return the name of a file, without the place where the package lies."""
        if self._is_ours(path):
            return os.path.relpath(path, self._root).replace(os.sep, "/")
        return os.path.basename(path)

    def _module(self, path: str, folder: str, name: str) -> str | None:
        """Return the file of the module ``name`` that a file imports, or else of the module that has it.

        ``folder``: where the name begins, if it is relative. None for another package that is installed.
        """
        if folder:
            return self._below(folder, name)
        top, _, rest = name.partition(".")
        if top == self._top:
            return self._below(self._package, rest)
        if not self._is_ours(path):
            for one in (name, name.rpartition(".")[0]):
                file = getattr(sys.modules.get(one), "__file__", None) or ""
                if file.endswith(".py"):
                    file = _resolved(file)
                    if _installed_as(file) in (None, _installed_as(path)):
                        return file
        return None

    def _below(self, folder: str, name: str) -> str | None:
        """Return the file of the module ``name`` in a folder, or else of the module that has the name."""
        if (folder, name) not in self._found:
            parts = name.split(".") if name else []
            places = (os.path.join(folder, *parts[:depth]) for depth in range(len(parts), -1, -1))
            files = (place + end for place in places for end in (f"{os.sep}__init__.py", ".py"))
            self._found[folder, name] = next(filter(os.path.isfile, files), None)
        return self._found[folder, name]


def _imports(path: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Return what a file imports: folders in which relative names begin, and names.

    Of ``from a import b`` the name is a.b, be it a module or not. Of names that are not relative the folder
    is empty.
    """
    for found in _IMPORT.finditer(content):
        line = content[content.rfind(b"\n", 0, found.start()) + 1 : found.start()]
        before = _BEFORE.fullmatch(line)
        if before is None:
            continue
        origin = before[1].decode() if before[1] else ""
        module = origin.lstrip(".")
        folder = path if module != origin else ""
        for _ in origin[: len(origin) - len(module)]:
            folder = os.path.dirname(folder)
        for name in _NO_NAME.sub(" ", found[1].decode(errors="replace")).split(","):
            for word in name.split()[:1]:
                yield folder, f"{module}.{word}" if module else word


def _resolved(path: str) -> str:
    """Return the path without links to folders; a link to a file stays, as Python imports from its folder."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _installed_as(path: str) -> str | None:
    """Return which of the installed packages has a file; None if it is not installed."""
    parts = path.split(os.sep)
    for folder, name in pairwise(parts):
        if folder in _INSTALLED:
            return name
    return "" if path.startswith(_STANDARD_LIBRARY) else None


def _state(path: str) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_mtime_ns, state.st_size


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
