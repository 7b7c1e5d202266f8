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
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1]

_IMPORT = re.compile(rb"import[ \t]*(\((?:[^)#]|#[^\n]*)*\)|[ \t](?:[^\n;\\]|\\\r?\n)*)")
_BEFORE = re.compile(rb"(?:.*[:;])?[ \t]*(?:from[ \t]*([.\w]+)[ \t]*)?")
"""What stands in a line before ``import``. To parse the files takes thirty times as long as to find this."""
_NO_NAME = re.compile(r"#[^\n]*|[()\\]")
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = {"site-packages", "dist-packages"}


class _SourceFile(NamedTuple):
    state: tuple[int, int] | None
    """Time and size when it was read; None if it may be newer than the code in this process."""
    digest: bytes
    imported: tuple[str, ...]
    """Paths of the files that it imports."""


class Sources:
    """The files of ``package``, and those of kernels elsewhere, as they are when they are first read.

    That is while kernels are defined, just after Python has read them. A file of the package that was edited
    after ``started``, in nanoseconds, is not known to have the code that runs in this process.
    """

    def __init__(self, package: Path = PACKAGE, started: int | None = None) -> None:
        self._package = str(package)
        self._root = os.path.dirname(self._package)
        self._started = time.time_ns() if started is None else started
        self._files: dict[str, _SourceFile] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._found: dict[str, str | None] = {}

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
        reached: set[str] = set()
        to_follow = [file]
        while to_follow:
            path = to_follow.pop()
            if path not in reached:
                reached.add(path)
                to_follow += self._file(path).imported
        packages = {folder for path in reached for folder in self._packages_of(path)}
        inits = {os.path.join(folder, "__init__.py") for folder in packages}
        for path in inits:
            self._file(path)
        return reached | inits

    def _file(self, path: str) -> _SourceFile:
        file = self._files.get(path)
        if file is None:
            state = _state(path)
            content = Path(path).read_bytes()
            is_newer = self._is_ours(path) and self._started < state[0] <= time.time_ns()
            find = self._in_package if self._is_ours(path) else self._anywhere
            imported = set(map(find, set(self._imports(path, content))))
            file = self._files[path] = _SourceFile(
                None if is_newer else state, _digest(content), tuple(filter(None, imported))
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

    def _packages_of(self, path: str) -> Iterator[str]:
        """Return the folders of the package in which a file of it lies."""
        while self._is_ours(path):
            path = os.path.dirname(path)
            yield path

    def _imports(self, path: str, content: bytes) -> Iterator[str]:
        """Return the full names that a file imports; of ``from a import b`` a.b, be it a module or not."""
        for found in _IMPORT.finditer(content):
            line = content[content.rfind(b"\n", 0, found.start()) + 1 : found.start()]
            before = _BEFORE.fullmatch(line)
            if before is None:
                continue
            origin = self._absolute(path, before[1].decode()) + "." if before[1] else ""
            for name in _NO_NAME.sub(" ", found[1].decode()).split(","):
                for word in name.split()[:1]:
                    yield origin + word

    def _absolute(self, path: str, origin: str) -> str:
        """Return the full name of what a file names from where it stands."""
        module = origin.lstrip(".")
        folder = path
        for _ in origin[: len(origin) - len(module)]:
            folder = os.path.dirname(folder)
        if folder == path:
            return module
        return ".".join((*os.path.relpath(folder, self._root).split(os.sep), *filter(None, [module])))

    def _in_package(self, name: str) -> str | None:
        """Return the file of the module ``name`` of the package, or else of the module that has it."""
        if name not in self._found:
            parts, file = name.split("."), None
            if parts[0] == os.path.basename(self._package):
                while parts and file is None:
                    file = self._module(parts)
                    parts.pop()
            self._found[name] = file
        return self._found[name]

    def _anywhere(self, name: str) -> str | None:
        """Return the same for a name that a file elsewhere imports; None for what is installed."""
        for one in (name, name.rpartition(".")[0]):
            file = getattr(sys.modules.get(one), "__file__", None) or ""
            if file.endswith(".py") and not _is_installed(file) and not self._is_ours(file):
                return str(file)
        return self._in_package(name)

    def _module(self, parts: list[str]) -> str | None:
        folder = os.path.join(self._root, *parts[:-1])
        if parts[-1] + ".py" in self._entries(folder):
            return os.path.join(folder, parts[-1] + ".py")
        if "__init__.py" in self._entries(os.path.join(folder, parts[-1])):
            return os.path.join(folder, parts[-1], "__init__.py")
        return None

    def _entries(self, folder: str) -> frozenset[str]:
        names = self._folders.get(folder)
        if names is None:
            names = frozenset(os.listdir(folder)) if os.path.isdir(folder) else frozenset()
            self._folders[folder] = names
        return names


def _is_installed(path: str) -> bool:
    return path.startswith(_STANDARD_LIBRARY) or not _INSTALLED.isdisjoint(path.split(os.sep))


def _state(path: str) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_mtime_ns, state.st_size


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
